package scheduling

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/api"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// outbox keeps mail in the database until it is sent.
type outbox struct{ kit module.Kit }

// Queue implements [api.Mailer].
func (o outbox) Queue(ctx context.Context, tx pgx.Tx, org uuid.UUID, m api.Mail) error {
	return dbgen.New(tx).CreateMail(ctx, dbgen.CreateMailParams{
		ID: store.NewID(), OrgID: &org, Recipient: m.To, Subject: m.Subject, BodyText: m.Text, CreatedAt: o.kit.Now(),
	})
}
