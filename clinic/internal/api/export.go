package api

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
)

type exportInput struct {
	rest.IDParam
	Format string `query:"format" enum:"json,csv,fhir" default:"json" doc:"One JSON object, CSV files in a ZIP archive, or a FHIR bundle"`
	RecordAccessParams
}

// Export is all data that the clinic has about a patient.
type Export struct {
	ExportedAt   time.Time         `json:"exported_at" doc:"When it was put together"`
	Clinic       ExportClinic      `json:"clinic" doc:"Whose data it is"`
	Patient      Patient           `json:"patient" doc:"Whom it is about"`
	LinkedPhones []string          `json:"linked_phones" nullable:"false" doc:"Further numbers that are the patient's, as numbers are compared: without a Brazilian mobile's ninth digit"`
	ExternalRef  *string           `json:"external_ref" doc:"The patient's id where they were imported from"`
	References   []Reference       `json:"references" nullable:"false" doc:"The patient's numbers in other lists that were imported"`
	Earlier      []ExportedContact `json:"earlier_contacts" nullable:"false" doc:"Names, numbers, addresses and tax ids that the patient had before, the latest first"`
	Tickets      []ExportedTicket  `json:"tickets" nullable:"false" doc:"The patient's tickets at connected products"`
	Merges       []ExportedMerge   `json:"merges" nullable:"false" doc:"Patients that were merged into this one, the latest first"`
	Records      []Record          `json:"records" nullable:"false" doc:"What was written down, the latest first"`
	Appointments []Appointment     `json:"appointments" nullable:"false" doc:"All, whatever became of them"`
	Payments     []Payment         `json:"payments" nullable:"false" doc:"All, whatever became of them"`
	Interactions []Interaction     `json:"interactions" nullable:"false" doc:"What happened with the patient"`
	Inbox        []InboxEntry      `json:"inbox" nullable:"false" doc:"Events that matched no patient at first, and are linked to this one; open ones wait for an older one"`
}

// exportHead has the members of an [Export] before its lists.
type exportHead struct {
	ExportedAt   time.Time         `json:"exported_at" doc:"When it was put together"`
	Clinic       ExportClinic      `json:"clinic" doc:"Whose data it is"`
	Patient      Patient           `json:"patient" doc:"Whom it is about"`
	LinkedPhones []string          `json:"linked_phones"`
	ExternalRef  *string           `json:"external_ref"`
	References   []Reference       `json:"references"`
	Earlier      []ExportedContact `json:"earlier_contacts"`
	Tickets      []ExportedTicket  `json:"tickets"`
	Merges       []ExportedMerge   `json:"merges"`
}

// ExportedContact is a name, number, address or tax id that a patient had before.
type ExportedContact struct {
	Kind  string    `json:"kind" enum:"name,former_name,phone,email,cpf" doc:"name: a user linked an event with this name, which may be another person's with the same number; former_name: of the patient's record"`
	Value *string   `json:"value" doc:"null: a tax id, of which a keyed hash alone is kept, or a value that cannot be decrypted any more"`
	At    time.Time `json:"at" doc:"When it was replaced or linked"`
}

// ExportedTicket is a ticket at a connected product.
type ExportedTicket struct {
	Source   string `json:"source" doc:"The product"`
	TicketID string `json:"ticket_id" doc:"Names the ticket there"`
}

// ExportedMerge is a merge into a patient.
type ExportedMerge struct {
	ID       uuid.UUID  `json:"merge_id" doc:"Names the merge in paths"`
	MergedID uuid.UUID  `json:"merged_id" doc:"The patient who was merged into this one"`
	MergedAt time.Time  `json:"merged_at" doc:"When they were merged"`
	UndoneAt *time.Time `json:"undone_at" doc:"When that was undone; null: it was not"`
}

// Reference is a patient's number in a list.
type Reference struct {
	Source     string `json:"source" doc:"System that the id is of; MERGED: the clinic itself, of a patient who was merged into this one"`
	ExternalID string `json:"external_id" doc:"What the patient is called there"`
}

// ExportClinic is the clinic that exports.
type ExportClinic struct {
	ID   uuid.UUID `json:"id" doc:"Names the clinic: its tenant id"`
	Name string    `json:"name" doc:"Display name"`
}

type exportOutput struct {
	Disposition string `header:"Content-Disposition"`
	Body        func(huma.Context)
}

// bindExport binds an operation that answers in one of several formats.
func (a *API) bindExport(api huma.API, op huma.Operation) {
	registry := api.OpenAPI().Components.Schemas
	op.Responses = map[string]*huma.Response{"200": {
		Description: "All that the clinic has about the patient",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: registry.Schema(reflect.TypeFor[Export](), true, "Export")}, "text/csv": {Schema: &huma.Schema{Type: huma.TypeString}},
			fhir.MediaType: {Schema: resource{}.Schema(registry)},
		},
	}}
	huma.Register(api, op, func(ctx context.Context, in *exportInput) (*exportOutput, error) {
		media, write, err := a.prepareExport(ctx, in)
		if err != nil {
			return nil, dberr.Wrap(op.OperationID, err)
		}
		extension := map[string]string{"csv": "csv", "fhir": "json", "json": "json"}[in.Format]
		return &exportOutput{fmt.Sprintf(`attachment; filename="patient-%s.%s"`, in.ID, extension), a.streamBody(op, media, write)}, nil
	})
}

// prepareExport checks the request and returns the export's media type and writer.
func (a *API) prepareExport(ctx context.Context, in *exportInput) (media string, write streamWriter, err error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return "", nil, err
	}
	if in.Reveal != "" && in.Format == "fhir" {
		return "", nil, hub.Invalid("query.reveal", "cannot be had with format=fhir, which never shows whole tax ids")
	}
	if in.Reason != "" && in.Format == "fhir" {
		return "", nil, hub.Invalid("header.X-Access-Reason", "cannot be had with format=fhir, which never shows locked content")
	}
	row, err := a.store.Patient(ctx, scope.Clinic, scope.Env, in.ID)
	if err != nil {
		return "", nil, rest.NotFoundIfNoRows("Patient", err)
	}
	if in.Format == "fhir" {
		f, err := a.newFHIRView(ctx, featurePatientRead)
		if err != nil {
			return "", nil, err
		}
		write, err = a.prepareBundle(ctx, f, in.ID.String(), fhir.EverythingQuery{})
		return fhir.MediaType, write, err
	}
	clinic, err := a.store.Clinic(ctx, scope.Clinic)
	if err != nil {
		return "", nil, err
	}
	patients, err := a.patientResponses(ctx, scope, row)
	if err != nil {
		return "", nil, err
	}
	head := exportHead{ExportedAt: a.host.Now().UTC(), Clinic: ExportClinic{clinic.ID, clinic.Name}, Patient: patients[0], LinkedPhones: []string{}, ExternalRef: row.ExternalRef}
	linked, err := a.store.LinkedPhones(ctx, scope.Clinic, scope.Env, row.ID)
	if err != nil {
		return "", nil, err
	}
	head.LinkedPhones = append(head.LinkedPhones, linked...)
	references, err := a.store.PatientReferences(ctx, scope, row.ID)
	if err != nil {
		return "", nil, err
	}
	head.References = rest.Map(references, func(r store.PatientReference) Reference { return Reference{r.Source, r.Reference} })
	if err := a.addExportedLists(ctx, scope, row.ID, &head); err != nil {
		return "", nil, err
	}
	view, err := a.newRecordView(ctx, scope, row, in.RecordAccessParams)
	if err != nil {
		return "", nil, err
	}
	if view.wholeCPFs {
		if head.Patient.CPF, err = a.wholeCPF(row); err != nil {
			return "", nil, err
		}
	}
	q := store.ResourceFilter{Scope: scope, Patients: []uuid.UUID{row.ID}, Limit: itemsPerQuery, SkipCount: true}
	if in.Format == "csv" {
		return "text/csv; charset=utf-8", func(ctx context.Context, w io.Writer) error { return a.writeTable(ctx, w, head, q, view) }, nil
	}
	return "application/json", func(ctx context.Context, w io.Writer) error { return a.writeObject(ctx, w, head, q, view) }, nil
}

// addExportedLists adds a patient's earlier contacts, tickets and merges to an export.
func (a *API) addExportedLists(ctx context.Context, scope store.Scope, patient uuid.UUID, head *exportHead) error {
	earlier, err := a.store.ListEarlierContacts(ctx, scope, patient)
	if err != nil {
		return err
	}
	head.Earlier = rest.Map(earlier, func(c store.EarlierContact) ExportedContact { return ExportedContact{c.Kind, c.Value, c.At.UTC()} })
	tickets, err := a.store.TicketsOfPatient(ctx, scope.Clinic, scope.Env, patient)
	if err != nil {
		return err
	}
	head.Tickets = rest.Map(tickets, func(t store.PatientTicket) ExportedTicket { return ExportedTicket{t.Source, t.TicketID} })
	merges, err := a.store.MergesOfPatient(ctx, scope.Clinic, scope.Env, patient)
	head.Merges = rest.Map(merges, func(m store.PatientMerge) ExportedMerge {
		return ExportedMerge{m.ID, m.MergedID, m.MergedAt.UTC(), clampOptionalTime(m.UndoneAt)}
	})
	return err
}

// writeObject writes an [Export].
func (a *API) writeObject(ctx context.Context, w io.Writer, head exportHead, q store.ResourceFilter, view recordView) error {
	if err := writeOpenObject(w, head); err != nil {
		return err
	}
	list := &jsonArrayWriter{w: w}
	hasArray := false
	err := a.visitPatientItems(ctx, q, view, exportVisitor{
		begin: func(kind string) error {
			end := ""
			if hasArray {
				end = "]"
			}
			hasArray, list.hasElements = true, false
			_, err := fmt.Fprintf(w, "%s,%q:[", end, kind)
			return err
		},
		record: addElement[Record](list), appointment: addElement[Appointment](list), payment: addElement[Payment](list), interaction: addElement[Interaction](list),
		inboxEntry: addElement[InboxEntry](list),
	})
	if err == nil {
		_, err = io.WriteString(w, "]}")
	}
	return err
}
