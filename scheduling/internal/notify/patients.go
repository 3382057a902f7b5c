package notify

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/store"
)

const (
	featurePatientSearch = "patient.search" // feature of a product that can be asked for patients
	callSearchPatients   = "search/patients"
)

// AskWhichClient asks an organization which client a deleted patient is. It writes to
// the notification addresses, or without any to owners and admins. The payload is a
// [store.AmbiguousErasure].
func (n *Notifier) AskWhichClient(ctx context.Context, payload []byte) error {
	var erasure store.AmbiguousErasure
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &erasure); err != nil {
		return err
	}
	org, err := n.store.LoadOrg(ctx, erasure.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	data := emails.Data{Business: org.Name, Reference: erasure.RequestID, Unsure: erasure.Reason}
	for _, id := range erasure.Clients {
		data.ClientIDs = append(data.ClientIDs, id.String())
	}
	return n.store.InTx(ctx, "asking which client to erase", func(tx *store.Tx) (err error) {
		recipients := org.Settings.NotifyEmails
		if len(recipients) == 0 {
			if recipients, err = tx.ManagerEmails(ctx, org.ID); err != nil {
				return err
			}
		}
		for _, address := range recipients {
			if _, err := n.sendEmail(ctx, tx, org, envelope{to: address}, emails.AmbiguousErasure, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// SyncPatient reads a changed patient from the clinic, because the event does not
// contain the new name and address. An unreachable clinic is asked again later; until then
// the other runs for it fail at once, so that those for other clinics do not wait behind
// calls that time out. The payload is a [store.PatientChange].
func (n *Notifier) SyncPatient(ctx context.Context, payload []byte) error {
	var change store.PatientChange
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &change); err != nil {
		return err
	}
	var err error
	if change.Phone, err = n.store.PatientPhone(ctx, change); err != nil || change.Phone == "" {
		return err
	}
	integrations, err := n.host.Peers.List(ctx, change.Org, hub.Live)
	if err != nil {
		return err
	}
	for _, integration := range integrations {
		if integration.Product != change.Product || integration.Status == "inactive" || !slices.Contains(integration.Features, featurePatientSearch) {
			continue
		}
		peer := peerKey{change.Org, change.Product}
		if err := n.unreachable.check(peer, n.host.Now()); err != nil {
			return n.handleUnreadPatient(change, err)
		}
		body, err := n.host.Peers.Call(ctx, integration.ID, hub.Call{Name: callSearchPatients, Query: url.Values{"phone": {change.Phone}}})
		if err != nil {
			if isUnreachable(err) {
				n.unreachable.add(peer, n.host.Now())
			}
			return n.handleUnreadPatient(change, err)
		}
		var answer struct {
			Patient *struct{ ID, Name, Email string } `json:"patient"`
			Matches int                               `json:"matches"` // patients with the phone; 0 = the product does not say
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return n.handleUnreadPatient(change, err)
		}
		patient := answer.Patient
		if patient == nil || patient.ID != change.PatientID { // another patient with the phone
			return nil
		}
		return n.store.UpdateClientFromPatient(ctx, change, patient.Name, patient.Email, answer.Matches > 1)
	}
	return nil
}

// handleUnreadPatient returns err while reading the patient can be retried. A clinic
// that refuses is not asked again.
func (n *Notifier) handleUnreadPatient(change store.PatientChange, err error) error {
	if isUnreachable(err) && n.host.Now().Before(change.GiveUpAt) {
		return err
	}
	n.host.Log.Warn("reading a changed patient failed", "organization", change.Org, "error", err)
	return nil
}
