package server

import (
	"integrationhub/hub/config"
	"integrationhub/hub/module"
)

func settingsFor(cfg config.Config) module.Settings {
	return module.Settings{
		Development: !cfg.IsProduction(), AccessTTL: cfg.AccessTTL, RefreshTTL: cfg.RefreshTTL,
		PaymentProvider: cfg.ActivePaymentProvider(), PaymentToken: cfg.PaymentToken.Reveal(), PaymentSecret: cfg.PaymentSecret.Reveal(),
		MailFrom: cfg.MailSender().Address, SandboxConnect: cfg.SandboxAutoconnect == "1" && !cfg.IsProduction(),
		CloudAPIURL: cfg.CloudAPIURL, CloudAPIVersion: cfg.CloudAPIVersion,
	}
}
