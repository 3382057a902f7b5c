package erasure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
)

const maria = `{"id":"evt_0123456789abcdef","product":"clinic","event_type":"patient.deleted","timestamp":"2026-01-02T03:04:05Z",
	"data":{"patient_id":"0198c9a0-1111-7222-8333-444455556666","phone":"+55 (11) 98765-4321","email":"Maria.Silva@Example.com",
	"deletion_request_id":"0198c9a0-aaaa-7bbb-8ccc-ddddeeeeffff","requested_by":{"email":"owner@example.com"},"clinic_phone":"+551130001000"}}`

// The person is found by id, address and number, however they are written, and nobody else is.
func TestPersonIsFound(t *testing.T) {
	t.Parallel()
	who := readPerson([]byte(maria))
	require.False(t, who.isEmpty())
	for _, text := range []string{
		`{"data":{"patient_id":"0198c9a0-1111-7222-8333-444455556666"}}`,
		`{"data":{"url":"https://x.example/patients/0198c9a0-1111-7222-8333-444455556666?tab=1"}}`,
		`patient-0198c9a0-1111-7222-8333-444455556666-x`,
		`{"data":{"deep":[{"er":["maria.silva@example.com"]}]}}`,
		`"Maria <MARIA.SILVA@EXAMPLE.COM>"`,
		`{"e":"maria.silva\u0040example.com"}`, `{"e":"maria.silva@example.com\n"}`, `write to maria.silva@example.com.`,
		`{"p":"+5511987654321"}`, `{"p":"5511987654321"}`, `{"p":"11987654321"}`, `{"p":11987654321}`, `{"p":5511987654321,"q":1}`,
		`{"p":"+551187654321"}`, `{"p":"551187654321"}`, `{"p":"1187654321"}`, `{"p":"(11) 8765-4321"}`,
		`{"p":"\u002b55 11 98765-4321"}`, `{"p":"+55 (11) 98765.4321"}`, `5511987654321@s.whatsapp.net`, `whatsapp:+5511987654321`,
		`ring 11 98765-4321 15:00`, `{"p":"011 98765-4321"}`, `{"p":"005511987654321"}`, `{"t":"2026-11-20 11 98765 4321"}`,
		`1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 11 98765 4321`,
	} {
		require.True(t, who.occursIn([]byte(text)), text)
	}
	for _, text := range []string{
		``, `{}`, `\`, `\u00`, `@`, `a@b`,
		`{"id":"0198c9a0-1111-7222-8333-444455556667"}`,
		`{"e":"anamaria.silva@example.com"}`, `{"e":"x.maria.silva@example.com"}`, `{"e":"maria.silva@example.com.br"}`, `{"e":"maria.silva@example.community"}`,
		`{"e":"owner@example.com"}`, `{"p":"+551130001000"}`, // of the clinic
		`{"request":"0198c9a0-aaaa-7bbb-8ccc-ddddeeeeffff"}`,
		`{"p":"+5521987654321"}`, `{"p":"+5511987654322"}`, `{"p":"987654321"}`, `{"p":"87654321"}`, `{"p":"11987654321000"}`, `{"p":"99911987654321"}`,
		`{"a":"11","b":"98765","c":"4321"}`, `[11,98765,4321]`, `11 - - 98765-4321`,
	} {
		require.False(t, who.occursIn([]byte(text)), text)
	}
}

// In ids that publishers chose, the address may stand behind another word; in payloads that would
// be another person's. A shared address still needs the name.
func TestPersonInChosenIDs(t *testing.T) {
	t.Parallel()
	who := readPerson([]byte(maria))
	persons := newPersonSet([]*personErasure{{person: who, requestedAt: time.Now()}})
	for _, text := range []string{
		"maria.silva@example.com", "pedido-maria.silva@example.com", "booking_Maria.Silva@example.com", "booking.maria.silva@example.com", "a+maria.silva@example.com",
		"a%maria.silva@example.com", "order:maria.silva@example.com", "booking_maria.silva@example.com_2", "maria.silva@example.com-2", "x-maria.silva@example.com.",
	} {
		require.True(t, who.isInChosenID(text), text)
		require.True(t, persons.isInChosenID(text), text)
		require.True(t, who.matches(logEvent{correlation: text}, []byte(`{}`)), text)
		require.Len(t, persons.personsIn(logEvent{correlation: text}, time.Time{}, []byte(`{}`)), 1, text)
		require.True(t, who.matches(logEvent{orderingKey: text}, []byte(`{}`)), text)
		require.Len(t, persons.personsIn(logEvent{orderingKey: text}, time.Time{}, []byte(`{}`)), 1, text)
	}
	for _, text := range []string{
		"", "pedido-", "anamaria.silva@example.com", "pedido-maria.silva@example.com.br", "pedido-maria.silva@example.community", "pedido-maria.silva@example.com-mail.net", "9maria.silva@example.com",
	} {
		require.False(t, who.isInChosenID(text), text)
		require.False(t, persons.isInChosenID(text), text)
	}
	require.False(t, who.occursIn([]byte(`{"e":"pedido-maria.silva@example.com"}`)), "an address of its own")
	shared := readPerson([]byte(`{"data":{"name":"Maria Silva","email":"maria.silva@example.com","email_shared":true}}`))
	require.False(t, shared.isInChosenID("pedido-maria.silva@example.com"))
}

// A number is found however it is written, by whoever writes it in any other way.
func TestPhonesAreFound(t *testing.T) {
	t.Parallel()
	for _, phone := range hubtest.Phones {
		forms := []string{phone.Written, phone.E164}
		if phone.WithoutNinthDigit != "" {
			forms = append(forms, phone.WithoutNinthDigit)
		}
		for _, text := range forms {
			who := readPerson([]byte(`{"data":{"phone":"` + text + `"}}`))
			for _, form := range forms {
				require.True(t, who.occursIn([]byte(`{"a":"x","p":"`+form+`","b":7}`)), "announced %q, written %q", text, form)
			}
			require.False(t, who.occursIn([]byte(`{"p":"+5511987650000"}`)), text)
		}
	}
}

// A short id means the person only as the id of one: everywhere else it is something else.
func TestShortIDs(t *testing.T) {
	t.Parallel()
	for _, who := range []*person{readPerson([]byte(`{"data":{"patient_id":"42"}}`)), readPerson([]byte(`{"data":{"patient_id":42}}`))} {
		for _, text := range []string{`{"patient_id":"42"}`, `{"patient_id": 42,"x":1}`, `{"client_id" :"42"}`} {
			require.True(t, who.occursIn([]byte(text)), text)
		}
		for _, text := range []string{`{"quantity":42}`, `{"id":"42"}`, `{"patient_id":"421"}`, `{"patient_id":142}`, `"patient_id" 42`} {
			require.False(t, who.occursIn([]byte(text)), text)
		}
	}
	who := readPerson([]byte(`{"data":{"patient_id":"12345678"}}`))
	require.True(t, who.occursIn([]byte(`{"id":"12345678"}`)))
	require.False(t, who.occursIn([]byte(`{"id":"12345678-aaaa-bbbb-cccc-000000000000"}`)))
}

// What a deletion event does not say is not looked for; a peer's own form is read too.
func TestReadPerson(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `{"erased":true}`, `{"data":{}}`, `{"data":{"patient_id":"","phone":"","email":"@"}}`, `[]`, `{"data":{"phone":"123","patient_id":{}}}`} {
		require.True(t, readPerson([]byte(body)).isEmpty(), body)
	}
	require.True(t, readPerson([]byte(`{"email":"a@b.example"}`)).occursIn([]byte(`A@b.example`)))
	require.True(t, readPerson([]byte(`{"data":{"client_phone":"+351 912 345 678"}}`)).occursIn([]byte(`"+351912345678"`)))
	require.False(t, readPerson([]byte(`{"data":{"client_phone":"+351 912 345 678"}}`)).occursIn([]byte(`"912345678"`)), "another country's")
	several := readPerson([]byte(`{"data":{"phone":"+5511987654321","phones":["+5521987651111",551130001000,null,{}],"phone_shared":true}}`))
	require.True(t, several.occursIn([]byte(`"21 98765-1111"`)))
	require.True(t, several.occursIn([]byte(`"+551130001000"`)))
	require.False(t, several.occursIn([]byte(`"+5511987654321"`)))
	require.True(t, readPerson([]byte(`{"data":{"phone":"11 3000-1000"}}`)).occursIn([]byte(`"+551130001000"`)))
	require.True(t, readPerson([]byte(`{"data":{"phone":"12345-6789"}}`)).occursIn([]byte(`"123456789"`)), "a number of no plan")
}

// A number that another person has too means the person only beside what names them.
func TestSharedNumbers(t *testing.T) {
	t.Parallel()
	who := readPerson([]byte(`{"data":{"patient_id":"0198c9a0-1111-7222-8333-444455556666","name":"José da Silva","phone":"+5511987654321","email":"jose@example.com","phone_shared":true}}`))
	for _, text := range []string{
		`{"phone":"11987654321","name":"JOSE  DA SILVA"}`, `{"client":{"client_name":"Jos\u00e9 da Silva"},"p":"+551187654321"}`, `call Jose da Silva, 11 98765-4321`,
		`{"phone":"11987654321","email":"jose@example.com"}`, `{"phone":"11987654321","name":"Bia","patient_id":"0198c9a0-1111-7222-8333-444455556666"}`,
		`{"phone":"11987654321","body":"this is josé da silva speaking"}`, `[{"name":"Bia"},{"name":"José da Silva"},"11987654321"]`,
	} {
		require.True(t, who.occursIn([]byte(text)), text)
	}
	for _, text := range []string{
		`{"phone":"11987654321"}`, `{"phone":"11987654321","name":"José da Silva Filho"}`, `{"phone":"11987654321","name":"José"}`, `{"phone":"11987654321","name":"Bia","body":"for José da Silva"}`,
		`{"phone":"11912345678","name":"José da Silva"}`, `call Josefa da Silva, 11 98765-4321`, `11987654321`,
	} {
		require.False(t, who.occursIn([]byte(text)), text)
	}
	require.True(t, readPerson([]byte(`{"data":{"phone":"+5511987654321","name":"José","phone_shared":false}}`)).occursIn([]byte(`{"phone":"11987654321","name":"Bia"}`)))
	require.True(t, readPerson([]byte(`{"data":{"phone":"+5511987654321","name":"Eva Reis","names":["Eva Luz",7],"phone_shared":true}}`)).occursIn([]byte(`{"phone":"11987654321","name":"Eva Luz"}`)), "an earlier name")
	mother := readPerson([]byte(`{"data":{"name":"Ana Lima","email":"Lima@example.com","email_shared":true}}`))
	require.False(t, mother.isEmpty())
	require.True(t, mother.occursIn([]byte(`{"email":"lima@example.com","name":"Ana Lima"}`)))
	require.False(t, mother.occursIn([]byte(`{"email":"lima@example.com","name":"Bia Lima"}`)))
	nameless := readPerson([]byte(`{"data":{"phone":"+5511987654321","phone_shared":true}}`))
	require.False(t, nameless.isEmpty())
	require.False(t, nameless.occursIn([]byte(`{"phone":"11987654321","name":""}`)))
}

// What the publisher knows beside counts too: events that were the person's, unless they
// have a number in them by which they may be another person's.
func TestKnownBeside(t *testing.T) {
	t.Parallel()
	who := readPerson([]byte(`{"data":{"patient_id":"0198c9a0-1111-7222-8333-444455556666","name":"Ana","phone":"+5511987654321"}}`))
	who.addTraces(module.LogTraces{
		Names: []string{"Ana Lima"}, Emails: []string{"Old@example.com"}, Phones: []string{"+5521987651111", "+5511987654321"}, Shared: []string{"+551187654321"},
		Events: []string{hub.FormatEventID(7), "x"},
	})
	for _, text := range []string{`{"e":"old@example.com"}`, `{"p":"21 98765-1111"}`, `{"phone":"11987654321","name":"Ana Lima"}`, `{"phone":"11987654321","name":"Ana"}`} {
		require.True(t, who.occursIn([]byte(text)), text)
	}
	who.addTraces(module.LogTraces{Shared: []string{"OLD2@example.com"}, Emails: []string{"old2@example.com"}})
	require.False(t, who.occursIn([]byte(`{"e":"old2@example.com"}`)))
	require.True(t, who.occursIn([]byte(`{"e":"old2@example.com","name":"ana"}`)))
	require.False(t, who.matches(logEvent{id: 7}, []byte(`{"e":"old2@example.com"}`)))
	require.False(t, who.occursIn([]byte(`{"phone":"11987654321"}`)), "it is shared, whatever the event says")
	for body, theirs := range map[string]bool{
		`{"ticket_id":7}`: true, `{"phone":"11987654321"}`: false, `{"phone":"11987654321","name":"Ana"}`: true, `{"phone":"11987654321","name":"Bia"}`: false, `{"phone":"11912345678"}`: true,
	} {
		require.Equal(t, theirs, who.matches(logEvent{id: 7}, []byte(body)), body)
	}
	require.False(t, who.matches(logEvent{id: 8}, []byte(`{"ticket_id":7}`)))
	require.True(t, who.matches(logEvent{id: 8, correlation: "old@example.com"}, []byte(`{"ticket_id":7}`)))
}
