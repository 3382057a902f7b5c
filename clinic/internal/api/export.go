package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
)

// exportRows are what a patient may take along.
func (a *API) exportRows() []route {
	return []route{
		{get, "/api/v1/patients/{id}/export", rest.Admin, 200, "patients.export", "All that the clinic has about a patient", a.export},
	}
}

type exportInput struct {
	rest.ByID
	Format string `query:"format" enum:"json,csv,fhir" default:"json"`
	Reveal string `query:"reveal" enum:"cpf" doc:"Where the clinic allows it; on record. Not with format=fhir, which never shows whole tax ids (422)"`
}

// Export is all that the clinic has about a patient.
type Export struct {
	ExportedAt   time.Time     `json:"exported_at"`
	Clinic       ExportClinic  `json:"clinic"`
	Patient      Patient       `json:"patient"`
	Records      []Record      `json:"records" nullable:"false"`
	Appointments []Appointment `json:"appointments" nullable:"false"`
	Payments     []Payment     `json:"payments" nullable:"false"`
	Interactions []Interaction `json:"interactions" nullable:"false"`
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

// export binds an operation that answers in the form that was asked for.
func (a *API) export(api huma.API, op huma.Operation) {
	registry := api.OpenAPI().Components.Schemas
	op.Responses = map[string]*huma.Response{"200": {
		Description: "All that the clinic has about the patient",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: registry.Schema(reflect.TypeFor[Export](), true, "Export")}, "text/csv": {Schema: &huma.Schema{Type: huma.TypeString}},
			fhir.MediaType: {Schema: resource{}.Schema(registry)},
		},
	}}
	huma.Register(api, op, func(ctx context.Context, in *exportInput) (*exportOutput, error) {
		media, body, err := a.exported(ctx, in)
		if err != nil {
			return nil, dberr.Failed(op.OperationID, err)
		}
		extension := map[string]string{"csv": "csv", "fhir": "json", "json": "json"}[in.Format]
		return &exportOutput{fmt.Sprintf(`attachment; filename="patient-%s.%s"`, in.ID, extension), func(c huma.Context) {
			c.SetHeader("Content-Type", media)
			_, _ = c.BodyWriter().Write(body) // the caller has gone, where it fails
		}}, nil
	})
}

// exported writes everything down.
func (a *API) exported(ctx context.Context, in *exportInput) (media string, body []byte, err error) {
	at, _, err := scope(ctx)
	if err != nil {
		return "", nil, err
	}
	if in.Reveal != "" && in.Format == "fhir" {
		return "", nil, hub.Invalid("query.reveal", "cannot be had with format=fhir, which never shows whole tax ids")
	}
	row, err := a.store.Patient(ctx, at.Clinic, at.Env, in.ID)
	if err != nil {
		return "", nil, rest.Or404("Patient", err)
	}
	if in.Format == "fhir" {
		f, err := a.facade(ctx, featurePatientRead)
		if err != nil {
			return "", nil, err
		}
		bundle, err := a.allOf(ctx, f, in.ID.String())
		if err != nil {
			return "", nil, err
		}
		body, err = json.Marshal(bundle)
		return fhir.MediaType, body, err
	}
	all, err := a.collect(ctx, at, row)
	if err != nil {
		return "", nil, err
	}
	if in.Reveal != "" {
		if all.Patient.CPF, err = a.reveal(ctx, at, row); err != nil {
			return "", nil, err
		}
	}
	if in.Format == "csv" {
		body, err = all.table()
		return "text/csv; charset=utf-8", body, err
	}
	body, err = json.Marshal(all)
	return "application/json", body, err
}

func (a *API) collect(ctx context.Context, at store.Scope, row dbgen.Patient) (Export, error) {
	clinic, err := a.store.Clinic(ctx, at.Clinic)
	if err != nil {
		return Export{}, err
	}
	shown, err := a.shown(ctx, at, row)
	if err != nil {
		return Export{}, err
	}
	all := Export{ExportedAt: a.kit.Now().UTC(), Clinic: ExportClinic{clinic.ID, clinic.Name}, Patient: shown[0]}
	q := store.Search{Scope: at, Patient: &row.ID, Limit: everythingPage, Uncounted: true}
	if all.Records, err = every(ctx, q, a.store.FindRecords, func(r dbgen.Record) uuid.UUID { return r.ID }, a.recordOf); err != nil {
		return all, err
	}
	all.Appointments, err = every(ctx, q, a.store.FindAppointments, func(r dbgen.Appointment) uuid.UUID { return r.ID }, sure(appointmentOf))
	if err != nil {
		return all, err
	}
	if all.Payments, err = every(ctx, q, a.store.FindPayments, func(r dbgen.Payment) uuid.UUID { return r.ID }, sure(paymentOf)); err != nil {
		return all, err
	}
	all.Interactions, err = every(ctx, q, a.store.FindInteractions, func(r dbgen.Interaction) uuid.UUID { return r.ID }, sure(interactionOf))
	return all, err
}

func sure[A, B any](convert func(A) B) func(A) (B, error) {
	return func(a A) (B, error) { return convert(a), nil }
}

// every reads all pages of a search.
func every[Row, Shown any](ctx context.Context, q store.Search, find func(context.Context, store.Search) ([]Row, int, error), id func(Row) uuid.UUID, convert func(Row) (Shown, error)) ([]Shown, error) {
	all := []Shown{}
	for {
		rows, _, err := find(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			one, err := convert(row)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		if len(rows) < q.Limit {
			return all, nil
		}
		q.After = id(rows[len(rows)-1])
	}
}

// table writes an export as one table for a spreadsheet: a row for each thing.
func (e Export) table() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("\ufeff") // spreadsheets take other files for Latin-1
	w := csv.NewWriter(&b)
	rows := [][]string{
		{"kind", "id", "date", "type", "professional", "status", "amount", "summary", "content"},
		{"patient", e.Patient.ID.String(), text(e.Patient.BirthDate), "", "", e.Patient.Status, e.Patient.BalanceDue.String(), e.Patient.Name, e.Patient.contact()},
	}
	for _, r := range e.Records {
		rows = append(rows, []string{"record", r.ID.String(), r.Date, r.Type, r.Professional, string(r.Sensitivity), "", r.Summary, r.Content})
	}
	for _, r := range e.Appointments {
		rows = append(rows, []string{"appointment", r.ID.String(), r.Datetime.Format(time.RFC3339), r.Service, r.Professional, string(r.Status), "", "", text(r.Reason)})
	}
	for _, r := range e.Payments {
		rows = append(rows, []string{"payment", r.ID.String(), r.DueDate, text(r.Method), "", string(r.Status), r.Amount.String(), r.Description, ""})
	}
	for _, r := range e.Interactions {
		rows = append(rows, []string{"interaction", r.ID.String(), r.OccurredAt.Format(time.RFC3339), r.Type, r.Source, "", "", r.Summary, ""})
	}
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
		if err := w.Write(row); err != nil {
			return nil, fmt.Errorf("writing a table: %w", err)
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// contact is how to reach a patient, and the tax id as it is shown.
func (p Patient) contact() string {
	var parts []string
	for _, one := range []*string{p.Phone, p.Email, p.CPF} {
		if one != nil {
			parts = append(parts, *one)
		}
	}
	return strings.Join(parts, " ")
}

// cell keeps a text from being taken for a formula by a spreadsheet.
func cell(s string) string {
	if s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		return "'" + s
	}
	return s
}
