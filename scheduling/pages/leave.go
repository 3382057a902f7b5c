package pages

import "net/http"

// stepLeave is the page on which clients end being written to. Mail programs post to
// its address themselves (RFC 8058): what the token is for stands in the address.
const stepLeave = "unsubscribe"

// left is that page.
type left struct{ Action, Icon, Title, Text string }

// leaving asks; it changes nothing, for programs follow the links of mails.
func (v *visit) leaving() (reply, error) {
	token := v.query.Get("token")
	if _, err := v.desk.VerifyUnsubscribeToken(v.org, token); err != nil {
		return reply{}, err
	}
	t := v.t()
	return reply{template: "leave", title: t.LeaveTitle, body: left{v.link(stepLeave, "token", token), "shield", t.LeaveTitle, t.LeaveAsk}}, nil
}

// leave does it.
func (v *visit) leave() (reply, error) {
	if err := v.desk.Unsubscribe(v.ctx, v.org, v.query.Get("token")); err != nil {
		return reply{}, err
	}
	t := v.t()
	return reply{status: http.StatusOK, template: "leave", title: t.LeftTitle, body: left{"", "check", t.LeftTitle, t.LeftHint}}, nil
}
