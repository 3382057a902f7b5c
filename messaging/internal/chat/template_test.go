package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
)

func parseTemplate(t *testing.T, raw string) chat.Template {
	t.Helper()
	var template chat.Template
	require.NoError(t, json.Unmarshal([]byte(raw), &template), raw)
	return template
}

// withComponents returns the JSON of a template with components.
func withComponents(components string) string {
	return `{"name":"reminder","language":"pt_BR","components":[` + components + `]}`
}

func TestTemplateProblems(t *testing.T) {
	t.Parallel()
	text := func(value string) string {
		raw, _ := json.Marshal(value)
		return `{"type":"body","parameters":[{"type":"text","text":` + string(raw) + `}]}`
	}
	header := func(parameter string) string { return `{"type":"header","parameters":[` + parameter + `]}` }
	button := func(rest string) string { return `{"type":"button",` + rest + `}` }
	buttons := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = button(fmt.Sprintf(`"sub_type":"quick_reply","index":"%d","parameters":[{"type":"payload","payload":"x"}]`, i))
		}
		return strings.Join(list, ",")
	}
	place := `"location":{"latitude":-23.5,"longitude":-46.6,"name":"Studio","address":"Rua Augusta"}`
	for _, valid := range []string{
		`{"name":"a","language":"en"}`, `{"name":"a_1","language":"fil","components":[]}`, `{"name":"` + strings.Repeat("a", 512) + `","language":"zh_HK"}`,
		withComponents(text(strings.Repeat("é", 1024))), withComponents(text("a    b")), withComponents(header(`{"type":"text","text":"` + strings.Repeat("a", 60) + `"}`)),
		withComponents(header(`{"type":"image","image":{"id":"123"}}`)), withComponents(header(`{"type":"video","video":{"link":"https://example.com/a.mp4"}}`)), withComponents(header(`{"type":"location",` + place + `}`)),
		withComponents(button(`"sub_type":"url","index":"9","parameters":[{"type":"text","text":"` + strings.Repeat("a", 2000) + `"}]`)),
		withComponents(`{"type":"body","parameters":[{"type":"text","text":"a","parameter_name":"first_1"}]}`),
		withComponents(`{"type":"body","parameters":[{"type":"date_time","date_time":{"fallback_value":"1 March"}},{"type":"currency","currency":{"fallback_value":"R$ 5","code":"BRL"}}]}`),
		withComponents(header(`{"type":"location","location":{"latitude":-90,"longitude":-180,"name":"a","address":"b"}}`)), withComponents(header(`{"type":"location","location":{"latitude":90,"longitude":180,"name":"a","address":"b"}}`)),
		withComponents(header(`{"type":"image","image":{"link":"https://example.com/` + strings.Repeat("a", 2028) + `"}}`)),
		withComponents(button(`"sub_type":"quick_reply","index":"0","parameters":[{"type":"payload","payload":"` + strings.Repeat("a", 256) + `"}]`)),
		withComponents(button(`"sub_type":"copy_code","index":"0","parameters":[{"type":"coupon_code","coupon_code":"` + strings.Repeat("A", 20) + `"}]`)),
		withComponents(button(`"sub_type":"quick_reply","index":"0","parameters":[{"type":"payload","payload":"x"}]`) + "," + button(`"sub_type":"quick_reply","index":"1","parameters":[{"type":"payload","payload":"x"}]`)),
		withComponents(buttons(10) + "," + text("a") + "," + header(`{"type":"text","text":"a"}`)),
		withComponents(`{"type":"body","parameters":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a"},`, 50), ",") + `]}`),
	} {
		path, problem := parseTemplate(t, valid).Problem()
		require.Empty(t, path+problem, valid)
	}
	for raw, path := range map[string]string{
		`{"name":"","language":"en"}`: ".name", `{"name":"Reminder","language":"en"}`: ".name", `{"name":"a b","language":"en"}`: ".name", `{"name":"` + strings.Repeat("a", 513) + `","language":"en"}`: ".name",
		`{"name":"a"}`: ".language", `{"name":"a","language":"pt-BR"}`: ".language", `{"name":"a","language":"portuguese"}`: ".language",
		withComponents(`{"type":"footer","parameters":[{"type":"text","text":"a"}]}`):                                               ".components[0]",
		withComponents(`{"type":"body","parameters":[]}`):                                                                           ".components[0]",
		withComponents(`{"type":"body"}`):                                                                                           ".components[0]",
		withComponents(`{"type":"body","index":"0","parameters":[{"type":"text","text":"a"}]}`):                                     ".components[0]",
		withComponents(text("a") + "," + text("b")):                                                                                 ".components[1]",
		withComponents(`{"type":"body","parameters":[{"type":"text","text":"a"},{"type":"text","text":"b","parameter_name":"b"}]}`): ".components[0]",
		withComponents(text("")): ".components[0].parameters[0]", withComponents(text(" ")): ".components[0].parameters[0]", withComponents(text("a\nb")): ".components[0].parameters[0]",
		withComponents(text("a\tb")): ".components[0].parameters[0]", withComponents(text("a     b")): ".components[0].parameters[0]", withComponents(text(strings.Repeat("é", 1025))): ".components[0].parameters[0]",
		withComponents(`{"type":"body","parameters":[{"type":"text","text":"a","payload":"b"}]}`):                                           ".components[0].parameters[0]",
		withComponents(`{"type":"body","parameters":[{"type":"text","text":"a","parameter_name":"First"}]}`):                                ".components[0].parameters[0]",
		withComponents(`{"type":"body","parameters":[{"type":"image","image":{"id":"1"}}]}`):                                                ".components[0].parameters[0]",
		withComponents(`{"type":"body","parameters":[{"type":"currency","currency":{"fallback_value":"1","code":"R$"}}]}`):                  ".components[0].parameters[0]",
		withComponents(`{"type":"body","parameters":[{"type":"date_time","date_time":{"fallback_value":""}}]}`):                             ".components[0].parameters[0]",
		withComponents(header(`{"type":"text","text":"` + strings.Repeat("a", 61) + `"}`)):                                                  ".components[0].parameters[0]",
		withComponents(header(`{"type":"text","text":"a"},{"type":"text","text":"b"}`)):                                                     ".components[0]",
		withComponents(header(`{"type":"image","image":{}}`)):                                                                               ".components[0].parameters[0]",
		withComponents(header(`{"type":"image","image":{"id":"1","link":"https://example.com/a"}}`)):                                        ".components[0].parameters[0]",
		withComponents(header(`{"type":"image","image":{"link":"http://example.com/a"}}`)):                                                  ".components[0].parameters[0]",
		withComponents(header(`{"type":"image","image":{"link":"https://u:p@example.com/a"}}`)):                                             ".components[0].parameters[0]",
		withComponents(header(`{"type":"image","image":{"id":"1","filename":"a.png"}}`)):                                                    ".components[0].parameters[0]",
		withComponents(header(`{"type":"location","location":{"latitude":91,"longitude":0,"name":"a","address":"b"}}`)):                     ".components[0].parameters[0]",
		withComponents(header(`{"type":"location","location":{"latitude":-91,"longitude":0,"name":"a","address":"b"}}`)):                    ".components[0].parameters[0]",
		withComponents(header(`{"type":"location","location":{"latitude":0,"longitude":181,"name":"a","address":"b"}}`)):                    ".components[0].parameters[0]",
		withComponents(header(`{"type":"location","location":{"latitude":0,"longitude":-181,"name":"a","address":"b"}}`)):                   ".components[0].parameters[0]",
		withComponents(header(`{"type":"location","location":{"latitude":0,"longitude":0,"name":"a"}}`)):                                    ".components[0].parameters[0]",
		withComponents(header(`{"type":"image","image":{"link":"https://example.com/` + strings.Repeat("a", 2029) + `"}}`)):                 ".components[0].parameters[0]",
		withComponents(`{"type":"body","parameters":[{"type":"date_time"}]}`):                                                               ".components[0].parameters[0]",
		withComponents(`{"type":"body","parameters":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a"},`, 51), ",") + `]}`): ".components[0]",
		withComponents(`{"type":"body","parameters":[{"type":"text","payload":"a"}]}`):                                                      ".components[0].parameters[0]",
		withComponents(text("a\u007fb")): ".components[0].parameters[0]",
		withComponents(text("a\u0001b")): ".components[0].parameters[0]",
		withComponents(button(`"sub_type":"url","index":"0","parameters":[{"type":"text","text":"a","parameter_name":"first"}]`)):                          ".components[0].parameters[0]",
		withComponents(button(`"sub_type":"copy_code","index":"0","parameters":[{"type":"coupon_code","coupon_code":"` + strings.Repeat("A", 21) + `"}]`)): ".components[0].parameters[0]",
		withComponents(button(`"sub_type":"call","index":"0","parameters":[{"type":"text","text":"a"}]`)):                                                  ".components[0]",
		withComponents(button(`"sub_type":"url","parameters":[{"type":"text","text":"a"}]`)):                                                               ".components[0]",
		withComponents(button(`"sub_type":"url","index":"10","parameters":[{"type":"text","text":"a"}]`)):                                                  ".components[0]",
		withComponents(button(`"sub_type":"url","index":"0","parameters":[{"type":"payload","payload":"a"}]`)):                                             ".components[0].parameters[0]",
		withComponents(button(`"sub_type":"copy_code","index":"0","parameters":[{"type":"coupon_code","coupon_code":"a b"}]`)):                             ".components[0].parameters[0]",
		withComponents(button(`"sub_type":"quick_reply","index":"0","parameters":[{"type":"payload","payload":"` + strings.Repeat("a", 257) + `"}]`)):      ".components[0].parameters[0]",
		withComponents(strings.TrimSuffix(strings.Repeat(text("a")+",", 13), ",")):                                                                         ".components",
	} {
		got, problem := parseTemplate(t, raw).Problem()
		require.Equal(t, path, got, raw)
		require.NotEmpty(t, problem, raw)
	}
	for _, unknown := range []string{`{"name":"a","language":"en","namespace":"x"}`, withComponents(`{"type":"carousel","cards":[]}`), `{"name":5}`, `{"name":"a","language":{"code":"en"}}`, `[]`} {
		var template chat.Template
		require.Error(t, json.Unmarshal([]byte(unknown), &template), unknown)
	}
}

func TestTemplateText(t *testing.T) {
	t.Parallel()
	template := parseTemplate(t, withComponents(`{"type":"header","parameters":[{"type":"document","document":{"link":"https://example.com/a.pdf","filename":"a.pdf"}}]},
		{"type":"body","parameters":[{"type":"text","text":"{nome}, {{hora}}"},{"type":"currency","currency":{"fallback_value":"R$ 5","code":"BRL","amount_1000":5000}}]},
		{"type":"button","sub_type":"quick_reply","index":"0","parameters":[{"type":"payload","payload":"{numero}"}]}`))
	require.Equal(t, "[reminder · pt_BR]\na.pdf\n{nome}, {{hora}}\nR$ 5\n[{numero}]", template.Text())
	values := chat.Variables{Name: " Ana\n Souza\t", Number: "5511987654321", At: time.Date(2027, 3, 1, 9, 5, 0, 0, time.UTC)}
	rendered, ok := template.Render(values)
	require.True(t, ok)
	require.Equal(t, "[reminder · pt_BR]\na.pdf\nAna Souza, 09:05\nR$ 5\n[5511987654321]", rendered.Text())
	require.Equal(t, "{nome}, {{hora}}", template.Components[1].Parameters[0].Text, "the template itself stays")
	mail := parseTemplate(t, withComponents(`{"type":"body","parameters":[{"type":"text","text":"{email}"}]}`))
	_, ok = mail.Render(values)
	require.False(t, ok, "the contact has no address")
	require.Equal(t, "[a · en]\nfirst_name: Ana", parseTemplate(t, `{"name":"a","language":"en","components":[{"type":"body","parameters":[{"type":"text","parameter_name":"first_name","text":"Ana"}]}]}`).Text())
	require.Len(t, []rune(parseTemplate(t, withComponents(`{"type":"body","parameters":[`+strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"`+strings.Repeat("é", 1000)+`"},`, 5), ",")+`]}`)).Text()), 4096)
}
