package pages

import "net/http"

// stepUnsubscribe is the path of the unsubscribe page. Mail programs post to its address
// themselves (RFC 8058), so the token is in the query.
const stepUnsubscribe = "unsubscribe"

// unsubscribeView is the template data of the unsubscribe page.
type unsubscribeView struct{ Action, Icon, Title, Text string }

// showUnsubscribe asks for confirmation. It changes nothing: mail scanners follow every
// link.
func (v *visit) showUnsubscribe() (reply, error) {
	token := v.query.Get("token")
	if _, err := v.publicBooking.VerifyUnsubscribeToken(v.org, token); err != nil {
		return reply{}, err
	}
	texts := v.texts()
	return reply{template: "leave", title: texts.LeaveTitle, body: unsubscribeView{v.linkTo(stepUnsubscribe, "token", token), "shield", texts.LeaveTitle, texts.LeaveAsk}}, nil
}

// unsubscribe withdraws the client's marketing consent.
func (v *visit) unsubscribe() (reply, error) {
	if err := v.publicBooking.Unsubscribe(v.ctx, v.org, v.query.Get("token")); err != nil {
		return reply{}, err
	}
	texts := v.texts()
	return reply{status: http.StatusOK, template: "leave", title: texts.LeftTitle, body: unsubscribeView{"", "check", texts.LeftTitle, texts.LeftHint}}, nil
}
