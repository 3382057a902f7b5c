package pages

import "net/http"

// stepUnsubscribe is the path of the unsubscribe page. Mail programs post to its address
// themselves (RFC 8058), so the token is in the query.
const stepUnsubscribe = "unsubscribe"

// unsubscribeView is the template data of the unsubscribe page.
type unsubscribeView struct{ Action, Icon, Title, Text string }

// showUnsubscribe asks for confirmation. It changes nothing: mail scanners follow every
// link.
func (p *pageRequest) showUnsubscribe() (reply, error) {
	token := p.query.Get("token")
	if _, err := p.publicBooking.VerifyUnsubscribeToken(p.org, token); err != nil {
		return reply{}, err
	}
	text := p.messages()
	return reply{template: "unsubscribe", title: text.LeaveTitle, body: unsubscribeView{p.linkTo(stepUnsubscribe, "token", token), "shield", text.LeaveTitle, text.LeaveAsk}}, nil
}

// unsubscribe withdraws the client's marketing consent.
func (p *pageRequest) unsubscribe() (reply, error) {
	if err := p.publicBooking.Unsubscribe(p.ctx, p.org, p.query.Get("token")); err != nil {
		return reply{}, err
	}
	text := p.messages()
	return reply{status: http.StatusOK, template: "unsubscribe", title: text.LeftTitle, body: unsubscribeView{"", "check", text.LeftTitle, text.LeftHint}}, nil
}
