package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// exportBatch is how many messages an export reads at once.
const exportBatch = 500

// ContactExport is all that the company has about a contact.
type ContactExport struct {
	ContactExportHead
	Messages []TicketMessage `json:"messages" nullable:"false" doc:"Every message with the contact and every note about it, the oldest first"`
}

// ContactExportHead has the members of a [ContactExport] before its messages.
type ContactExportHead struct {
	ExportedAt time.Time        `json:"exportedAt" doc:"When the export was made"`
	Company    CompanySummary   `json:"company" doc:"Who has the data"`
	Contact    Contact          `json:"contact" doc:"Whom it is about"`
	Tickets    []ExportedTicket `json:"tickets" nullable:"false" doc:"Its tickets, the oldest first"`

	Schedules []Schedule         `json:"schedules" nullable:"false" doc:"Messages that are or were scheduled for it"`
	Lists     []ExportedList     `json:"contactLists" nullable:"false" doc:"Lists of recipients with the contact, in the order in which they were made"`
	Campaigns []ExportedShipment `json:"campaigns" nullable:"false" doc:"Campaigns that it gets or got"`
	Questions []ExportedQuestion `json:"appointmentQuestions" nullable:"false" doc:"Appointments that it was asked to confirm or cancel, in the order of the questions; deleted a month after their end"`
}

// ExportedQuestion is the question of a reminder whether an appointment takes place, in an export.
type ExportedQuestion struct {
	MessageID     string     `json:"messageId" doc:"The message that asks, among messages" example:"0198c1de-0000-7000-8000-000000000002"`
	AppointmentID string     `json:"appointmentId" doc:"As the connected product calls the appointment" example:"0198c1de-0000-7000-8000-000000000001"`
	Title         string     `json:"title" doc:"Service and time" example:"Cut, seg 02/03 às 09:00"`
	Status        string     `json:"status" enum:"open,confirming,cancelling,confirmed,cancelled,failed,replaced" doc:"What became of it. open: no answer; confirming, cancelling: the connected product is called; failed: users answer; replaced: a later question asks about the same appointment"`
	AskedAt       time.Time  `json:"askedAt" doc:"When it was asked"`
	Until         time.Time  `json:"until" doc:"When answers are too late"`
	AnsweredAt    *time.Time `json:"answeredAt" doc:"When the contact answered last; null: not yet"`
}

// ExportedList is a list of contacts in an export.
type ExportedList struct {
	ID   int64  `json:"id" doc:"Id of the list" example:"3"`
	Name string `json:"name" doc:"What users of the company call the list" example:"Clients"`
}

// ExportedShipment is what a contact got of a campaign, in an export.
type ExportedShipment struct {
	CampaignID int64     `json:"campaignId" doc:"The campaign that the message was or will be sent for, as in GET /campaigns/{id}" example:"7"`
	Name       string    `json:"name" doc:"The campaign's name" example:"Winter"`
	Number     string    `json:"number" doc:"Number that it was sent to; empty: not yet" example:"5511987654321"`
	Message    string    `json:"message" doc:"The text; empty: not yet made" example:"Hello Ana"`
	Status     string    `json:"status" enum:"pending,confirming,confirmed,queued,sent,delivered,read,failed,skipped" doc:"How far it has come"`
	UpdatedAt  time.Time `json:"updatedAt" doc:"Last change"`
}

// ExportedTicket is a ticket in an export.
type ExportedTicket struct {
	ID         int64             `json:"id" doc:"Id of the ticket" example:"12"`
	UUID       uuid.UUID         `json:"uuid" doc:"The ticket's id elsewhere"`
	Status     chat.TicketStatus `json:"status" enum:"open,pending,closed" doc:"pending: waits for a user"`
	Resolution *string           `json:"resolution" doc:"How it ended; null: nobody wrote it"`
	Rating     *int              `json:"rating" doc:"1 to 5, by the contact; null: none"`
	CreatedAt  time.Time         `json:"createdAt" doc:"When it was made"`
	ClosedAt   *time.Time        `json:"closedAt" doc:"When it was closed; null: it is not"`
}

type exportContactOutput struct {
	Disposition string `header:"Content-Disposition"`
	Body        func(huma.Context)
}

// bindExportContact binds an operation whose response is written while it is read.
func (a *API) bindExportContact(api huma.API, op huma.Operation) {
	op.Responses = map[string]*huma.Response{"200": {
		Description: "All that the company has about the contact",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[ContactExport](), true, "ContactExport")}},
	}}
	huma.Register(api, op, func(ctx context.Context, in *IDParam) (*exportContactOutput, error) {
		head, err := a.exportHead(ctx, in.ID)
		if err != nil {
			return nil, dberr.Wrap(op.OperationID, err)
		}
		return &exportContactOutput{fmt.Sprintf(`attachment; filename="contact-%d.json"`, in.ID), func(c huma.Context) {
			c.SetHeader("Content-Type", "application/json")
			module.Stream(c, func(ctx context.Context, w io.Writer) error { return a.writeExport(ctx, w, head) }, func(err error) {
				a.host.Log.ErrorContext(ctx, "an export was cut short", "operation", op.OperationID, "error", err)
			})
		}}, nil
	})
}

// exportHead returns an export without its messages.
func (a *API) exportHead(ctx context.Context, id int64) (head ContactExportHead, err error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return head, err
	}
	row, err := a.store.Contact(ctx, user.scope.Company, id)
	if err != nil {
		return head, dberr.MapNoRows(err, errNoContact())
	}
	module.SetSubject(ctx, chat.FormatID(id))
	contacts, err := a.loadContacts(ctx, row.CompanyID, []store.Contact{row})
	if err != nil {
		return head, err
	}
	company, err := a.store.Company(ctx, row.CompanyID)
	if err != nil {
		return head, err
	}
	tickets, err := a.store.TicketsOfContact(ctx, row.CompanyID, row.ID)
	if err != nil {
		return head, err
	}
	head = ContactExportHead{ExportedAt: a.host.Now().UTC(), Company: CompanySummary{company.ID, company.Name}, Contact: contacts[0]}
	head.Tickets = rest.Map(tickets, func(t store.Ticket) ExportedTicket {
		return ExportedTicket{t.ID, t.UUID, t.Status, t.Resolution, t.Rating, t.CreatedAt.UTC(), t.ClosedAt}
	})
	return head, a.addOutgoing(ctx, row, &head)
}

// addOutgoing adds to an export what the company has prepared or sent by itself.
func (a *API) addOutgoing(ctx context.Context, contact store.Contact, head *ContactExportHead) error {
	schedules, err := a.store.SchedulesOfContact(ctx, contact.CompanyID, contact.ID)
	if err != nil {
		return fmt.Errorf("loading the contact's scheduled messages: %w", err)
	}
	lists, err := a.store.ListsOfContact(ctx, contact.CompanyID, contact.ID)
	if err != nil {
		return fmt.Errorf("loading the contact's lists: %w", err)
	}
	shipments, err := a.store.ShipmentsOfContact(ctx, contact.CompanyID, contact.ID)
	if err != nil {
		return fmt.Errorf("loading the contact's campaigns: %w", err)
	}
	questions, err := a.store.AllAppointmentQuestionsOfContact(ctx, contact.CompanyID, contact.ID)
	if err != nil {
		return fmt.Errorf("loading the contact's questions about appointments: %w", err)
	}
	head.Schedules = rest.Map(schedules, a.toSchedule)
	head.Lists = rest.Map(lists, func(l store.ListOfContact) ExportedList { return ExportedList{l.ID, l.Name} })
	head.Campaigns = rest.Map(shipments, func(s store.ContactShipment) ExportedShipment {
		return ExportedShipment{s.Shipment.CampaignID, s.Name, s.Shipment.Number, s.Shipment.Message, s.Shipment.Status, s.Shipment.UpdatedAt.UTC()}
	})
	head.Questions = rest.Map(questions, func(q store.AppointmentQuestion) ExportedQuestion {
		return ExportedQuestion{q.MessageID, q.AppointmentID, q.Title, q.Status, q.AskedAt.UTC(), q.ExpiresAt.UTC(), q.AnsweredAt}
	})
	return nil
}

// writeExport writes a [ContactExport].
func (a *API) writeExport(ctx context.Context, w io.Writer, head ContactExportHead) error {
	raw, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("encoding an export: %w", err)
	}
	separator := string(raw[:len(raw)-1]) + `,"messages":[`
	for after := int64(0); ; {
		messages, err := a.store.ListMessagesOfContact(ctx, head.Contact.CompanyID, head.Contact.ID, after, exportBatch)
		if err != nil {
			return err
		}
		for _, m := range messages {
			raw, err := json.Marshal(a.toMessage(m))
			if err != nil {
				return fmt.Errorf("encoding a message: %w", err)
			}
			if _, err := io.WriteString(w, separator+string(raw)); err != nil {
				return err
			}
			separator, after = ",", m.Seq
		}
		if len(messages) < exportBatch {
			break
		}
	}
	end := "]}"
	if separator != "," {
		end = separator + end
	}
	_, err = io.WriteString(w, end)
	return err
}

func (a *API) anonymizeContact(ctx context.Context, in *IDParam) (*contactOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	module.SetSubject(ctx, chat.FormatID(in.ID))
	var anonymized store.Contact
	err = a.store.InTx(ctx, "anonymizing a contact", func(tx *store.Tx) error {
		contact, err := tx.LockContact(ctx, user.scope.Company, in.ID)
		if err != nil {
			return dberr.MapNoRows(err, errNoContact())
		}
		anonymized, err = tx.AnonymizeContactAndLog(ctx, user.scope, contact)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.contactOutput(ctx, anonymized)
}
