package accounts

import (
	"cmp"
	"fmt"

	"integrationhub/hub/module"
	"integrationhub/hub/module/email"
	"integrationhub/hub/module/infopage"
	"integrationhub/hub/module/language"
)

// passwordLinkEmail returns the email with a link to set a password. It has the tenant's
// language and sender name.
func passwordLinkEmail(to Recipient, purpose LinkPurpose, link string) module.Email {
	tag := cmp.Or(language.Match(to.Locale, infopage.Portuguese, infopage.English, infopage.Spanish), infopage.Portuguese)
	t := textsByLanguage[tag]
	subject, text := t.ResetSubject, fmt.Sprintf(t.ResetEmail, to.Tenant.Name)+"\n"+link+"\n\n"+t.NotYou
	if purpose == PurposeInvite {
		subject, text = fmt.Sprintf(t.InviteSubject, to.Tenant.Name), fmt.Sprintf(t.InviteEmail, to.Tenant.Name)+"\n"+link
	}
	text = fmt.Sprintf(t.Hello, to.Name) + "\n\n" + text + "\n"
	return module.Email{
		TenantID: to.Tenant.ID, To: to.Email, FromName: to.Tenant.Name, ReplyTo: to.ReplyTo, Subject: subject, Text: text, HTML: email.RenderHTML(tag, text),
	}
}
