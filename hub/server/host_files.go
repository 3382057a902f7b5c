package server

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/config"
	"integrationhub/hub/internal/files"
	"integrationhub/hub/internal/mail"
	"integrationhub/hub/module"
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

// openFiles opens the store of uploads and serves its files.
func (s *Server) openFiles(ctx context.Context) (err error) {
	cfg := s.options.Config
	address, err := cfg.UploadsURL()
	if err != nil {
		return err
	}
	if s.products.files, err = files.Open(ctx, address, s.publicURL()); err != nil {
		return fmt.Errorf("%w: %w", ErrSetting, err)
	}
	s.app.Get(files.Path+"/*", s.products.files.Serve)
	return nil
}

func settingsFor(cfg config.Config) module.Settings {
	return module.Settings{
		Development: !cfg.IsProduction(), AccessTTL: cfg.AccessTTL, RefreshTTL: cfg.RefreshTTL,
		PaymentProvider: cfg.ActivePaymentProvider(), PaymentToken: cfg.PaymentToken.Reveal(), PaymentSecret: cfg.PaymentSecret.Reveal(),
		MailFrom: cfg.MailSender().Address,
	}
}
