package cloud_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
)

// Every kind of message arrives as something that people can read.
func TestKinds(t *testing.T) {
	t.Parallel()
	d, sink, _ := api(t)
	for _, c := range []struct {
		message    string // beside its id and sender
		kind       chat.MediaType
		body       string // "" = it is no message
		quotedByIt string
	}{
		{`"type":"location","location":{"latitude":-23.5613,"longitude":-46.6565,"name":"Studio Bela","address":"Av. Paulista, 1578"}`, chat.MediaLocation, "Studio Bela\nAv. Paulista, 1578\nhttps://maps.google.com/?q=-23.5613,-46.6565", ""},
		{`"type":"location","location":{"latitude":1,"longitude":0}`, chat.MediaLocation, "https://maps.google.com/?q=1,0", ""},
		{`"type":"contacts","contacts":[{"name":{"formatted_name":"Dr. Caio"},"phones":[{"phone":"+55 11 90000-0002"}],"emails":[{"email":"caio@example.com"}]},{"name":{"formatted_name":"Bia"}}]`, chat.MediaContact, "Dr. Caio\n+55 11 90000-0002\ncaio@example.com\nBia", ""},
		{`"type":"reaction","reaction":{"message_id":"wamid.1","emoji":"👍"}`, "", "👍", "wamid.1"},
		{`"type":"reaction","reaction":{"message_id":"wamid.1"}`, "", "", ""},
		{`"type":"button","button":{"text":"Confirm","payload":"yes"},"context":{"id":"wamid.1"}`, "", "Confirm", "wamid.1"},
		{`"type":"interactive","interactive":{"type":"button_reply","button_reply":{"id":"b1","title":"Yes"}},"context":{"id":"wamid.1"}`, "", "Yes", "wamid.1"},
		{`"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"l1","title":"Tuesday, 10:00","description":"Ana"}}`, "", "Tuesday, 10:00", ""},
		{`"type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":{"name":"flow","body":"Sent","response_json":"{}"}}`, "", "Sent", ""},
		{`"type":"order","order":{"catalog_id":"1","text":"Please today","product_items":[]}`, "", "Please today", ""},
		{`"type":"order","order":{"catalog_id":"1"}`, "", "[order]", ""},
		{`"type":"unsupported","errors":[{"code":131051,"title":"Message type unknown"}]`, "", "[unsupported message]", ""},
		{`"type":"hologram","hologram":{}`, "", "[unsupported message]", ""},
		{`"type":"text","text":{"body":" "}`, "", "[unsupported message]", ""},
		{`"type":"system","system":{"body":"Ana changed from 1 to 2","type":"user_changed_number"}`, "", "", ""},
		{`"type":"request_welcome"`, "", "", ""},
	} {
		sink.messages = nil
		body := fmt.Sprintf(`{"entry":[{"changes":[{"value":{"metadata":{"phone_number_id":"106540352242922"},"messages":[{"id":"wamid.2","from":"5511987654321",%s}]}}]}]}`, c.message)
		require.NoError(t, d.Receive(t.Context(), connection, []byte(body)))
		if c.body == "" {
			require.Empty(t, sink.messages, c.message)
			continue
		}
		require.Len(t, sink.messages, 1, c.message)
		got := sink.messages[0]
		require.Equal(t, []any{c.kind, c.body, c.quotedByIt}, []any{got.Kind, got.Body, got.QuotedRemoteID}, c.message)
		require.Nil(t, got.Media)
	}
}

// A file is of the kind that the network says.
func TestKindsOfFiles(t *testing.T) {
	t.Parallel()
	d, sink, _ := api(t)
	for kind, file := range map[chat.MediaType]string{
		chat.MediaSticker: `"id":"1","mime_type":"image/webp"`, chat.MediaImage: `"id":"2","mime_type":"image/jpeg","caption":"The way"`, chat.MediaAudio: `"id":"3","mime_type":"audio/ogg; codecs=opus"`,
		chat.MediaVideo: `"id":"4","mime_type":"video/mp4"`, chat.MediaDocument: `"id":"5","mime_type":"application/pdf","filename":"a.pdf"`,
	} {
		sink.messages = nil
		body := fmt.Sprintf(`{"entry":[{"changes":[{"value":{"metadata":{"phone_number_id":"106540352242922"},"messages":[{"id":"wamid.2","from":"5511987654321","type":%q,%q:{%s}}]}}]}]}`, kind, kind, file)
		require.NoError(t, d.Receive(t.Context(), connection, []byte(body)))
		require.Len(t, sink.messages, 1, kind)
		require.NotNil(t, sink.messages[0].Media, kind)
		require.Equal(t, kind, sink.messages[0].Media.Type)
	}
}
