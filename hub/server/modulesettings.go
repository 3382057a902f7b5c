package server

import (
	"time"

	"integrationhub/hub/config"
	"integrationhub/hub/module"
)

func settingsFor(cfg config.Config, spec module.Spec) module.Settings {
	return module.Settings{
		Development: !cfg.IsProduction(), AccessTTL: shortest(cfg.AccessTTL, spec.AccessTTL), RefreshTTL: shortest(cfg.RefreshTTL, spec.RefreshTTL),
		PaymentProvider: cfg.ActivePaymentProvider(), PaymentToken: cfg.PaymentToken.Reveal(), PaymentSecret: cfg.PaymentSecret.Reveal(),
		MailFrom: cfg.MailSender().Address, SandboxConnect: cfg.SandboxAutoconnect == "1" && !cfg.IsProduction(),
		CloudAPIURL: cfg.CloudAPIURL, CloudAPIVersion: cfg.CloudAPIVersion, MediaBytes: int64(cfg.MediaBytes),
	}
}

// shortest returns the shorter of a setting and a product's limit; 0 is no limit.
func shortest(setting, limit time.Duration) time.Duration {
	if limit == 0 {
		return setting
	}
	return min(setting, limit)
}
