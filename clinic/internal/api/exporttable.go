package api

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"time"

	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/rest"
)

// columns are those of an exported table, in their order.
var columns = []string{
	"kind", "id", "date", "type", "professional", "status", "amount", "summary", "content", "source", "source_id", "url", "paid_at", "reminded_at",
	"phone", "email", "cpf", "linked_phones", "external_ref",
}

// line is a row of an exported table, by column; what it does not say is empty.
type line map[string]string

// writeTable writes an export as one table for a spreadsheet: a row for each thing.
func (a *API) writeTable(ctx context.Context, w io.Writer, of exportHead, q store.Search) error {
	if _, err := io.WriteString(w, "\ufeff"); err != nil { // spreadsheets take other files for Latin-1
		return err
	}
	table := csv.NewWriter(w)
	write := func(entry line) error {
		cells := make([]string, len(columns))
		for i, name := range columns {
			cells[i] = rest.EscapeCSVCell(entry[name])
		}
		return table.Write(cells)
	}
	p := of.Patient
	err := errors.Join(table.Write(columns), write(line{
		"kind": "patient", "id": p.ID.String(), "date": text(p.BirthDate), "status": p.Status, "amount": p.BalanceDue.String(), "summary": p.Name,
		"phone": text(p.Phone), "email": text(p.Email), "cpf": text(p.CPF), "linked_phones": strings.Join(of.LinkedPhones, " "), "external_ref": text(of.ExternalRef),
	}))
	if err != nil {
		return err
	}
	err = a.walk(ctx, q, things{
		begin: func(string) error { return nil },
		record: func(r Record) error {
			return write(line{
				"kind": "record", "id": r.ID.String(), "date": r.Date, "type": r.Type, "professional": r.Professional, "status": string(r.Sensitivity),
				"summary": r.Summary, "content": r.Content, "url": r.URL,
			})
		},
		appointment: func(r Appointment) error {
			return write(line{
				"kind": "appointment", "id": r.ID.String(), "date": r.Datetime.Format(time.RFC3339), "type": r.Service, "professional": r.Professional,
				"status": string(r.Status), "content": text(r.Reason), "source": text(r.Source), "source_id": text(r.ExternalID), "reminded_at": stamp(r.RemindedAt),
			})
		},
		payment: func(r Payment) error {
			return write(line{
				"kind": "payment", "id": r.ID.String(), "date": r.DueDate, "type": text(r.Method), "status": string(r.Status), "amount": r.Amount.String(),
				"summary": r.Description, "paid_at": stamp(r.PaidAt),
			})
		},
		interaction: func(r Interaction) error {
			return write(line{
				"kind": "interaction", "id": r.ID.String(), "date": r.OccurredAt.Format(time.RFC3339), "type": r.Type, "summary": r.Summary,
				"source": r.Source, "source_id": r.SourceID,
			})
		},
	})
	table.Flush()
	return errors.Join(err, table.Error())
}

// stamp is an instant that may be missing.
func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}
