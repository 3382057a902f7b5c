package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/mail"
)

// SentMail is an email as it was sent, or would have been without a server.
type SentMail struct {
	ID        uuid.UUID `json:"id" format:"uuid" doc:"UUID of the email"`
	To        string    `json:"to" doc:"Address it went to" example:"bia@example.com"`
	Subject   string    `json:"subject" doc:"Line that mail programs show first" example:"Your booking is confirmed"`
	Text      string    `json:"text" doc:"Body without markup"`
	HTML      string    `json:"html" doc:"Body with markup; empty: there is none" example:"<p>Your booking is confirmed</p>"`
	CreatedAt time.Time `json:"created_at" doc:"When it was made"`
}

type listMailInput struct {
	httpx.PageQuery
	To string `query:"to" maxLength:"254" doc:"Only mail to this address" example:"bia@example.com"`
}

func (a *API) listMail(ctx context.Context, in *listMailInput) (*struct{ Body httpx.Page[SentMail] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	rows, err := a.deps.Mail.List(ctx, in.To, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := pageOf(rows, in.PageQuery, sentMailOf, func(last mail.Item) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[SentMail] }{page}, nil
}

func sentMailOf(m mail.Item) SentMail {
	return SentMail{ID: m.ID, To: m.To, Subject: m.Subject, Text: m.Text, HTML: m.HTML, CreatedAt: m.CreatedAt}
}
