package outbound

import (
	"context"

	"integrationhub/hub"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

// errWindowClosed is the error for a message that the network would refuse, because the
// contact has not written for too long.
var errWindowClosed = hub.Errorf(hub.ErrMalformed, "window_closed", "The contact has not written on this connection within the last 24 hours: the network accepts templates only.")

// errNoTemplates is the error for a template on a connection whose network accepts none.
var errNoTemplates = hub.Errorf(hub.ErrMalformed, "template_unsupported", "The network of this connection accepts no templates: send a text.")

// CheckContent returns a [hub.Error] (400 window_closed, template_unsupported) if the network
// of a connection does not accept the content of a message for a contact now. Networks are
// not called.
func (s *Service) CheckContent(ctx context.Context, queries *dbgen.Queries, connection store.Connection, contact store.Contact, message store.Message) error {
	if message.Template != nil {
		return s.CheckTemplates(connection)
	}
	network, err := s.drivers.ByName(connection.Driver)
	if err != nil {
		return err
	}
	window := network.Capabilities().MessageWindow
	if window == 0 {
		return nil
	}
	isOpen, err := queries.ContactWroteSince(ctx, dbgen.ContactWroteSinceParams{CompanyID: contact.CompanyID, ContactID: contact.ID, ConnectionID: connection.ID, Since: s.host.Now().Add(-window)})
	if err == nil && !isOpen {
		err = errWindowClosed
	}
	return err
}

// CheckTemplates returns a [hub.Error] (400 template_unsupported) if the network of a
// connection accepts no templates.
func (s *Service) CheckTemplates(connection store.Connection) error {
	network, err := s.drivers.ByName(connection.Driver)
	if err == nil && !network.Capabilities().Templates {
		err = errNoTemplates
	}
	return err
}

// refusals are the reasons for callers by the codes of messages that a network refused.
var refusals = map[string]string{
	CodeWindowClosed:            errWindowClosed.Detail,
	CodeNoTemplates:             errNoTemplates.Detail,
	CodeOptedOut:                errOptedOut.Detail,
	"template_parameter_count":  "The network refused the template: it has another number of variables in a part than parameters were sent.",
	"template_not_found":        "The network refused the template: there is no approved one of this name in this language.",
	"template_too_long":         "The network refused the template: its text is too long with these parameters.",
	"template_policy":           "The network refused the template: its content violates the network's policy.",
	"template_parameter_format": "The network refused the template: a parameter is not of the type or form of its variable.",
	"template_paused":           "The network refused the template: it is paused for its low quality. Edit it at the network, or wait.",
	"template_disabled":         "The network refused the template: it is disabled for its low quality for good. Make another one.",
}

// RefusalError returns the error for callers of a message that was not sent, by the code that
// is stored with it; nil stands for none.
func RefusalError(code *string) *hub.Error {
	if code != nil {
		if reason, ok := refusals[*code]; ok {
			return hub.Errorf(hub.ErrMalformed, *code, "%s", reason)
		}
	}
	return hub.Errorf(hub.ErrMalformed, "sending_wapp_msg", "The network refused the message.")
}
