package cloud_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// A template goes out as the API's documentation shows it; its text for people does not.
func TestSendTemplate(t *testing.T) {
	t.Parallel()
	d, _, sent := api(t)
	var template chat.Template
	require.NoError(t, json.Unmarshal([]byte(`{"name":"appointment_reminder","language":"pt_BR","components":[
		{"type":"header","parameters":[{"type":"document","document":{"link":"https://example.com/a.pdf","filename":"a.pdf"}}]},
		{"type":"body","parameters":[{"type":"text","parameter_name":"first_name","text":"Ana"},{"type":"currency","parameter_name":"price","currency":{"fallback_value":"R$ 150,00","code":"BRL","amount_1000":150000}},
			{"type":"date_time","parameter_name":"day","date_time":{"fallback_value":"2 de março"}}]},
		{"type":"button","sub_type":"quick_reply","index":"0","parameters":[{"type":"payload","payload":"confirm-1"}]},
		{"type":"button","sub_type":"url","index":"1","parameters":[{"type":"text","text":"8151"}]},
		{"type":"button","sub_type":"copy_code","index":"2","parameters":[{"type":"coupon_code","coupon_code":"SPRING20"}]}]}`), &template))
	for _, m := range []driver.Outgoing{
		{To: "5511987654321", Body: "for people", Template: &template},
		{To: "5511987654321", Body: "for people", Template: &chat.Template{Name: "hello_world", Language: "en_US"}, QuotedRemoteID: "wamid.0"},
	} {
		_, err := d.Send(t.Context(), connection, m)
		require.NoError(t, err)
	}
	raw, err := json.Marshal(*sent)
	require.NoError(t, err)
	require.JSONEq(t, `[{"messaging_product":"whatsapp","to":"5511987654321","type":"template","template":{"name":"appointment_reminder","language":{"code":"pt_BR"},"components":[
		{"type":"header","parameters":[{"type":"document","document":{"link":"https://example.com/a.pdf","filename":"a.pdf"}}]},
		{"type":"body","parameters":[{"type":"text","parameter_name":"first_name","text":"Ana"},{"type":"currency","parameter_name":"price","currency":{"fallback_value":"R$ 150,00","code":"BRL","amount_1000":150000}},
			{"type":"date_time","parameter_name":"day","date_time":{"fallback_value":"2 de março"}}]},
		{"type":"button","sub_type":"quick_reply","index":"0","parameters":[{"type":"payload","payload":"confirm-1"}]},
		{"type":"button","sub_type":"url","index":"1","parameters":[{"type":"text","text":"8151"}]},
		{"type":"button","sub_type":"copy_code","index":"2","parameters":[{"type":"coupon_code","coupon_code":"SPRING20"}]}]}},
		{"messaging_product":"whatsapp","to":"5511987654321","type":"template","template":{"name":"hello_world","language":{"code":"en_US"}},"context":{"message_id":"wamid.0"}}]`, string(raw))
}

// A template that fails after the API accepted it has the same codes.
func TestTemplateStatus(t *testing.T) {
	t.Parallel()
	d, sink, _ := api(t)
	body := `{"entry":[{"changes":[{"value":{"metadata":{"phone_number_id":"106540352242922"},"statuses":[{"id":"wamid.1","status":"failed","errors":[{"code":132012}]}]}}]}]}`
	require.NoError(t, d.Receive(t.Context(), connection, []byte(body)))
	require.Equal(t, "template_parameter_format", sink.receipts[0].ErrorCode)
}
