package api

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"time"

	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
)

// columns are those of an exported table, in order.
var columns = []string{
	"kind", "id", "date", "type", "professional", "status", "amount", "summary", "content", "source", "source_id", "url", "paid_at", "reminded_at",
	"phone", "email", "cpf", "linked_phones", "external_ref", "references",
}

// tableRow is a row of an exported table, by column.
type tableRow map[string]string

// writeTable writes an export as one CSV table, with a row for each item.
func (a *API) writeTable(ctx context.Context, w io.Writer, head exportHead, q store.ResourceFilter, view recordView) error {
	if _, err := io.WriteString(w, "\ufeff"); err != nil { // spreadsheets read files without a byte order mark as Latin-1
		return err
	}
	table := csv.NewWriter(w)
	write := func(row tableRow) error {
		cells := make([]string, len(columns))
		for i, name := range columns {
			cells[i] = rest.EscapeCSVCell(row[name])
		}
		return table.Write(cells)
	}
	p := head.Patient
	err := errors.Join(table.Write(columns), write(tableRow{
		"kind": "patient", "id": p.ID.String(), "date": pointer.ValueOrZero(p.BirthDate), "status": p.Status, "amount": p.BalanceDue.String(), "summary": p.Name,
		"phone": pointer.ValueOrZero(p.Phone), "email": pointer.ValueOrZero(p.Email), "cpf": pointer.ValueOrZero(p.CPF), "linked_phones": strings.Join(head.LinkedPhones, " "), "external_ref": pointer.ValueOrZero(head.ExternalRef), "references": strings.Join(rest.Map(head.References, func(r Reference) string { return r.Source + ": " + r.ExternalID }), ", "),
	}))
	if err != nil {
		return err
	}
	if err := writeHeadRows(head, write); err != nil {
		return err
	}
	err = a.visitPatientItems(ctx, q, view, exportVisitor{
		begin: func(string) error { return nil },
		record: func(r Record) error {
			return write(tableRow{
				"kind": "record", "id": r.ID.String(), "date": r.Date, "type": r.Type, "professional": r.Professional, "status": string(r.Sensitivity),
				"summary": r.Summary, "content": r.Content, "url": r.URL,
			})
		},
		appointment: func(r Appointment) error {
			return write(tableRow{
				"kind": "appointment", "id": r.ID.String(), "date": r.Datetime.Format(time.RFC3339), "type": r.Service, "professional": r.Professional,
				"status": string(r.Status), "content": pointer.ValueOrZero(r.Reason), "source": pointer.ValueOrZero(r.Source), "source_id": pointer.ValueOrZero(r.ExternalID), "reminded_at": formatOptionalTime(r.RemindedAt),
			})
		},
		payment: func(r Payment) error {
			return write(tableRow{
				"kind": "payment", "id": r.ID.String(), "date": r.DueDate, "type": pointer.ValueOrZero(r.Method), "status": string(r.Status), "amount": r.Amount.String(),
				"summary": r.Description, "paid_at": formatOptionalTime(r.PaidAt),
			})
		},
		interaction: func(r Interaction) error {
			return write(tableRow{
				"kind": "interaction", "id": r.ID.String(), "date": r.OccurredAt.Format(time.RFC3339), "type": r.Type, "summary": r.Summary,
				"source": r.Source, "source_id": r.SourceID,
			})
		},
		inboxEntry: func(r InboxEntry) error {
			return write(tableRow{
				"kind": "inbox_entry", "id": r.ID.String(), "date": r.OccurredAt.Format(time.RFC3339), "type": r.EventType, "status": r.Status, "summary": pointer.ValueOrZero(r.Summary),
				"source": r.Product, "source_id": r.EventID, "phone": pointer.ValueOrZero(r.Phone),
			})
		},
	})
	table.Flush()
	return errors.Join(err, table.Error())
}

// writeHeadRows writes a row for each element of the lists of an export's head.
func writeHeadRows(head exportHead, write func(tableRow) error) error {
	var rows []tableRow
	for _, contact := range head.Earlier {
		column := "summary"
		if contact.Kind == "phone" || contact.Kind == "email" {
			column = contact.Kind
		}
		rows = append(rows, tableRow{"kind": "earlier_contact", "date": contact.At.Format(time.RFC3339), "type": contact.Kind, column: pointer.ValueOrZero(contact.Value)})
	}
	for _, ticket := range head.Tickets {
		rows = append(rows, tableRow{"kind": "ticket", "source": ticket.Source, "source_id": ticket.TicketID})
	}
	for _, merge := range head.Merges {
		status := "merged"
		if merge.UndoneAt != nil {
			status = "undone"
		}
		rows = append(rows, tableRow{"kind": "merge", "id": merge.ID.String(), "date": merge.MergedAt.Format(time.RFC3339), "status": status, "source_id": merge.MergedID.String()})
	}
	for _, row := range rows {
		if err := write(row); err != nil {
			return err
		}
	}
	return nil
}
