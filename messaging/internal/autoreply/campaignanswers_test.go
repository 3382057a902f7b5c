package autoreply_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// ask starts a campaign that asks the contact first, and returns its path.
func (r *reminded) ask(name string) string {
	r.T.Helper()
	contact := messagingtest.ID(r.Get("/contacts?searchParam=" + r.phone)["contacts"].([]any)[0].(object))
	path := messagingtest.Path("/campaigns", r.OK(201, "POST", "/campaigns", object{
		"name": name, "message1": "Offer of " + name, "confirmation": true, "confirmationMessage1": "May we, for " + name + "?",
		"whatsappId": r.connection.ID, "contactIds": []int64{contact}, "messageInterval": 0, "longerIntervalAfter": 0,
	}))
	r.OK(200, "POST", path+"/start", nil)
	r.untilJob("campaigns", func() bool { return r.Hub.Count("messaging.campaign_shipments where status = 'pending'") == 0 })
	require.Equal(r.T, []string{"May we, for " + name + "?"}, r.received())
	return path
}

// reply answers a message of the company, named by its text, by quoting it.
func (r *reminded) reply(quoted, text string) []string {
	r.T.Helper()
	for _, message := range r.Get("/sandbox/phones/" + r.phone + "/inbox")["messages"].([]any) {
		if message.(object)["body"] == quoted {
			r.OK(201, "POST", "/sandbox/phones/"+r.phone+"/send", object{"to": r.connection.Number, "body": text, "quotedId": message.(object)["id"]})
			r.finishCalls()
			return r.received()
		}
	}
	r.T.Fatalf("the phone has no message %q", quoted)
	return nil
}

// offers returns what the phone got since the last call, once every campaign that the contact
// agreed to has sent its message: the hub runs the job by itself, sooner or later.
func (r *reminded) offers() []string {
	r.T.Helper()
	r.untilJob("campaigns", func() bool {
		return r.Hub.Count("messaging.campaign_shipments where status in ('pending', 'confirmed')") == 0
	})
	return r.received()
}

// isAsked reports whether a campaign still waits for the contact's answer.
func (r *reminded) isAsked(campaign string) bool {
	r.T.Helper()
	shipments := r.Get(campaign + "/report?status=confirming")
	return shipments["count"].(float64) > 0
}

// An answer counts for one question: the one that it quotes, else the latest.
func TestAnswerCountsForOneQuestion(t *testing.T) {
	t.Parallel()
	r := newReminded(t)
	r.say("Hello")
	earlier := r.ask("March")
	reminder := r.remind("a-1", "Corte, 9h")[0]
	require.Equal(t, []string{"Confirmado: Corte, 9h."}, r.answer("sim"))
	require.True(t, r.isAsked(earlier), "the reminder was later")
	require.Equal(t, "confirm", r.calendar.State("a-1"))

	r.remind("a-2", "Barba, 10h")
	r.answer("Great, thanks")
	require.True(t, r.isAsked(earlier), "no answer to the campaign: the reminder was later")
	late := r.ask("April")
	require.Equal(t, []string{"Offer of April"}, append(r.answer("sim"), r.offers()...))
	require.Equal(t, "open", r.calendar.State("a-2"), "the campaign was later")
	require.False(t, r.isAsked(late))
	require.True(t, r.isAsked(earlier), "one campaign")

	r.calendar.Open("a-1")
	require.Equal(t, []string{"Cancelado: Corte, 9h."}, r.reply(reminder, "2"))
	require.True(t, r.isAsked(earlier))
	r.remind("a-3", "Unha, 11h")
	require.Equal(t, []string{"Offer of March"}, append(r.reply("May we, for March?", "sim"), r.offers()...))
	require.False(t, r.isAsked(earlier), "it was quoted")
	require.Equal(t, "open", r.calendar.State("a-3"))
	require.EqualValues(t, 1, r.Get(earlier)["counters"].(object)["delivered"])
}

// A refusal declines the latest campaign, a wish to opt out all of them.
func TestRefusalsOfCampaigns(t *testing.T) {
	t.Parallel()
	r := newReminded(t)
	r.say("Hello")
	campaigns := []string{r.ask("March"), r.ask("April"), r.ask("May")}
	r.remind("a-1", "Corte, 9h")
	r.answer("não")
	require.Equal(t, []bool{true, true, false}, []bool{r.isAsked(campaigns[0]), r.isAsked(campaigns[1]), r.isAsked(campaigns[2])})
	r.answer("SAIR")
	for _, campaign := range campaigns {
		require.False(t, r.isAsked(campaign))
		require.EqualValues(t, 1, r.Get(campaign)["counters"].(object)["skipped"])
	}
}
