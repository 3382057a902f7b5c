package mail

import (
	"bytes"
	"encoding/json"
	"fmt"
	netmail "net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// message builds the email of a row. Its Message-ID is the row's id, so that servers
// recognize an email that arrives twice.
func (o *Outbox) message(row dbgen.ClaimMailsRow) (*gomail.Msg, error) {
	from := o.config.From
	if row.FromName != "" {
		from.Name = row.FromName
	}
	var attachments []module.Attachment
	if err := json.Unmarshal(row.Attachments, &attachments); err != nil {
		return nil, fmt.Errorf("reading attachments: %w", err)
	}
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(&from)
	m.ToMailAddress(&netmail.Address{Address: row.Recipient})
	if row.ReplyTo != "" {
		m.SetAddrHeaderFromMailAddress(gomail.HeaderReplyTo, &netmail.Address{Address: row.ReplyTo})
	}
	m.Subject(row.Subject)
	m.SetDateWithValue(row.CreatedAt)
	m.SetMessageIDWithValue(row.ID.String() + "@" + domainOf(o.config.From.Address))
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no automatic replies
	if row.Unsubscribe != "" {                         // RFC 2369 and RFC 8058
		m.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+row.Unsubscribe+">")
		m.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	m.SetBodyString(gomail.TypeTextPlain, row.Body)
	if row.Html != "" {
		m.AddAlternativeString(gomail.TypeTextHTML, row.Html)
	}
	for _, attachment := range attachments {
		m.AttachReadSeeker(attachment.Name, bytes.NewReader(attachment.Content), gomail.WithFileContentType(gomail.ContentType(attachment.Type)))
	}
	return m, nil
}

func domainOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }
