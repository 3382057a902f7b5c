package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
)

type exportInput struct {
	rest.IDParam
	Format string `query:"format" enum:"json,csv,fhir" default:"json"`
	Reveal string `query:"reveal" enum:"cpf" doc:"Where the clinic allows it; on record. Not with format=fhir, which never shows whole tax ids (422)"`
}

// Export is all that the clinic has about a patient.
type Export struct {
	ExportedAt   time.Time     `json:"exported_at"`
	Clinic       ExportClinic  `json:"clinic"`
	Patient      Patient       `json:"patient"`
	LinkedPhones []string      `json:"linked_phones" nullable:"false" doc:"Further numbers that are the patient's, as numbers are compared: without a Brazilian mobile's ninth digit"`
	ExternalRef  *string       `json:"external_ref" doc:"The patient's id where they were imported from"`
	Records      []Record      `json:"records" nullable:"false"`
	Appointments []Appointment `json:"appointments" nullable:"false"`
	Payments     []Payment     `json:"payments" nullable:"false"`
	Interactions []Interaction `json:"interactions" nullable:"false"`
}

// exportHead is how an [Export] begins.
type exportHead struct {
	ExportedAt   time.Time    `json:"exported_at"`
	Clinic       ExportClinic `json:"clinic"`
	Patient      Patient      `json:"patient"`
	LinkedPhones []string     `json:"linked_phones"`
	ExternalRef  *string      `json:"external_ref"`
}

// ExportClinic is whose patient it is.
type ExportClinic struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

type exportOutput struct {
	Disposition string `header:"Content-Disposition"`
	Body        func(huma.Context)
}

// bindExport binds an operation that answers in the form that was asked for.
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

// streamWriter writes an answer while it reads what it is about.
type streamWriter func(ctx context.Context, w io.Writer) error

// streamBody sends what is written.
func (a *API) streamBody(op huma.Operation, media string, write streamWriter) func(huma.Context) {
	return func(c huma.Context) {
		c.SetHeader("Content-Type", media)
		module.Stream(c, write, func(err error) {
			a.host.Log.Error("an answer broke off", "operation", op.OperationID, "error", err)
		})
	}
}

// prepareExport begins to write everything down.
func (a *API) prepareExport(ctx context.Context, in *exportInput) (media string, write streamWriter, err error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return "", nil, err
	}
	if in.Reveal != "" && in.Format == "fhir" {
		return "", nil, hub.Invalid("query.reveal", "cannot be had with format=fhir, which never shows whole tax ids")
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
	if in.Reveal != "" {
		if head.Patient.CPF, err = a.reveal(ctx, scope, row); err != nil {
			return "", nil, err
		}
	}
	q := store.ResourceFilter{Scope: scope, Patients: []uuid.UUID{row.ID}, Limit: itemsPerQuery, SkipCount: true}
	if in.Format == "csv" {
		return "text/csv; charset=utf-8", func(ctx context.Context, w io.Writer) error { return a.writeTable(ctx, w, head, q) }, nil
	}
	return "application/json", func(ctx context.Context, w io.Writer) error { return a.writeObject(ctx, w, head, q) }, nil
}

// itemsPerQuery is how many of a patient's things are held at a time: records may be long.
const itemsPerQuery = 50

// forEachRow reads all pages of a search, and hands over what it finds as it is shown.
func forEachRow[Row, Shown any](ctx context.Context, q store.ResourceFilter, find func(context.Context, store.ResourceFilter) ([]Row, int, error), id func(Row) uuid.UUID,
	convert func(Row) (Shown, error), take func(Shown) error,
) error {
	for {
		rows, _, err := find(ctx, q)
		if err != nil {
			return err
		}
		for _, row := range rows {
			element, err := convert(row)
			if err == nil {
				err = take(element)
			}
			if err != nil {
				return err
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.After = id(rows[len(rows)-1])
	}
}

func withoutError[A, B any](convert func(A) B) func(A) (B, error) {
	return func(a A) (B, error) { return convert(a), nil }
}

// exportVisitor hands over all that a patient has, kind by kind; begin is called before each.
type exportVisitor struct {
	begin       func(kind string) error
	record      func(Record) error
	appointment func(Appointment) error
	payment     func(Payment) error
	interaction func(Interaction) error
}

func (a *API) visitPatientItems(ctx context.Context, q store.ResourceFilter, visitor exportVisitor) error {
	for _, kind := range []struct {
		name string
		read func() error
	}{
		{"records", func() error {
			return forEachRow(ctx, q, a.store.FindRecords, func(r store.Record) uuid.UUID { return r.ID }, a.toRecord, visitor.record)
		}},
		{"appointments", func() error {
			return forEachRow(ctx, q, a.store.FindAppointments, func(r store.Appointment) uuid.UUID { return r.ID }, withoutError(toAppointment), visitor.appointment)
		}},
		{"payments", func() error {
			return forEachRow(ctx, q, a.store.FindPayments, func(r store.Payment) uuid.UUID { return r.ID }, withoutError(toPayment), visitor.payment)
		}},
		{"interactions", func() error {
			return forEachRow(ctx, q, a.store.FindInteractions, func(r store.Interaction) uuid.UUID { return r.ID }, withoutError(toInteraction), visitor.interaction)
		}},
	} {
		if err := visitor.begin(kind.name); err != nil {
			return err
		}
		if err := kind.read(); err != nil {
			return err
		}
	}
	return nil
}

// jsonArrayWriter writes the members of a JSON array.
type jsonArrayWriter struct {
	w           io.Writer
	hasElements bool // something stands before
}

func (s *jsonArrayWriter) add(value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing an export: %w", err)
	}
	if s.hasElements {
		raw = append([]byte(","), raw...)
	}
	s.hasElements = true
	_, err = s.w.Write(raw)
	return err
}

func addElement[T any](s *jsonArrayWriter) func(T) error {
	return func(element T) error { return s.add(element) }
}

// writeOpenObject writes a JSON object without its end.
func writeOpenObject(w io.Writer, value any) error {
	raw, err := json.Marshal(value)
	if err == nil {
		_, err = w.Write(bytes.TrimSuffix(raw, []byte("}")))
	}
	return err
}

// writeObject writes an [Export].
func (a *API) writeObject(ctx context.Context, w io.Writer, head exportHead, q store.ResourceFilter) error {
	if err := writeOpenObject(w, head); err != nil {
		return err
	}
	list := &jsonArrayWriter{w: w}
	hasArray := false
	err := a.visitPatientItems(ctx, q, exportVisitor{
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
	})
	if err == nil {
		_, err = io.WriteString(w, "]}")
	}
	return err
}
