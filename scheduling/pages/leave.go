package pages

import "net/http"

// stepUnsubscribe is the page on which clients end being written to. Mail programs post to
// its address themselves (RFC 8058): what the token is for stands in the address.
const stepUnsubscribe = "unsubscribe"

// unsubscribeView is that page.
type unsubscribeView struct{ Action, Icon, Title, Text string }

// showUnsubscribe asks; it changes nothing, for programs follow the links of mails.
func (v *visit) showUnsubscribe() (reply, error) {
	token := v.query.Get("token")
	if _, err := v.publicBooking.VerifyUnsubscribeToken(v.org, token); err != nil {
		return reply{}, err
	}
	texts := v.texts()
	return reply{template: "leave", title: texts.LeaveTitle, body: unsubscribeView{v.linkTo(stepUnsubscribe, "token", token), "shield", texts.LeaveTitle, texts.LeaveAsk}}, nil
}

// unsubscribe does it.
func (v *visit) unsubscribe() (reply, error) {
	if err := v.publicBooking.Unsubscribe(v.ctx, v.org, v.query.Get("token")); err != nil {
		return reply{}, err
	}
	texts := v.texts()
	return reply{status: http.StatusOK, template: "leave", title: texts.LeftTitle, body: unsubscribeView{"", "check", texts.LeftTitle, texts.LeftHint}}, nil
}
