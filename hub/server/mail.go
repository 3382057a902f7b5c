package server

import (
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/config"
	"integrationhub/hub/internal/mail"
)

// newMail returns the outbox that is provided to products; the engine runs it.
func newMail(cfg config.Config, db *pgxpool.Pool, log *slog.Logger) (*mail.Outbox, error) {
	c := mail.Config{DB: db, From: cfg.MailSender(), Keep: !cfg.IsProduction(), Log: log}
	if address := cfg.SMTPURL.Reveal(); address != "" {
		server, err := mail.ParseServer(address)
		if err != nil {
			return nil, fmt.Errorf("%w: HUB_SMTP_URL %w", ErrSetting, err)
		}
		c.Server = server
	}
	return mail.New(c), nil
}
