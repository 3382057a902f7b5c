package clinic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
)

// importSize are what the goal is about.
const importSize = 10_000

// importTimeout is how long an import is waited for.
const importTimeout = 10 * time.Minute

// pollInterval is how often an import is asked after: a clinic's users have a limit.
const pollInterval = 200 * time.Millisecond

// MeasureImport has a clinic import patients from a table.
func MeasureImport(ctx context.Context, b *stage.Run) (*report.Result, error) {
	g := &service.Gateway{Programs: b.Programs}
	st, err := stage.Open(ctx, b, g, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var clinic struct {
		AccessToken string `json:"access_token"`
	}
	err = g.API.CallPath(ctx, http.MethodPost, "/clinic/api/v1/auth/register", nil, map[string]any{
		"clinic_name": "Bench", "name": "Bench", "email": hubapi.AdminEmail, "password": "bench bench bench",
	}, &clinic)
	if err != nil {
		return nil, err
	}
	im := importer{st, &g.API, hubapi.Bearer(clinic.AccessToken)}
	result := &report.Result{Figures: make(map[string]float64)}
	file := patientsCSV(importSize, 1)
	for _, step := range []struct {
		file               string
		created, skipped   int
		figure, peakFigure string
	}{
		{file, importSize, 0, report.FigureImport, ""},
		{file, 0, importSize, report.FigureReimport, report.FigureImportMemory},
		{patientsCSV(importSize, 10), 0, 10 * importSize, "import_large_s", report.FigureLargeImportMemory},
	} {
		took, err := im.run(ctx, step.file, step.created, step.skipped)
		if err != nil {
			return nil, err
		}
		result.Figures[step.figure] = took.Seconds()
		if step.peakFigure != "" {
			used, _ := usage.ReadMemory(st.Process.PID())
			result.Figures[step.peakFigure] = usage.Megabytes(used.Peak)
		}
	}
	return result, nil
}

// importer uploads files as a clinic's administrator.
type importer struct {
	stage  *stage.Stage
	api    *hubapi.Client
	header http.Header
}

// importStatus is how an import stands.
type importStatus struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Created int    `json:"created"`
	Skipped int    `json:"skipped"`
	Failed  int    `json:"failed"`
}

// run imports a file and requires what comes of it.
func (im importer) run(ctx context.Context, file string, created, skipped int) (time.Duration, error) {
	began := time.Now()
	made, err := im.upload(ctx, file)
	if err != nil {
		return 0, err
	}
	path := "/clinic/api/v1/imports/" + made.ID
	var now importStatus
	err = im.stage.Process.WaitUntil(ctx, importTimeout, func() error {
		time.Sleep(pollInterval)
		if err := im.api.CallPath(ctx, http.MethodGet, path, im.header, nil, &now); err != nil {
			return err
		}
		if now.Status != "done" {
			return errors.New("the import goes on")
		}
		return nil
	})
	took := time.Since(began)
	if err == nil && (now.Created != created || now.Skipped != skipped || now.Failed != 0) {
		err = fmt.Errorf("an import made %d patients, skipped %d and failed with %d; %d and %d were expected", now.Created, now.Skipped, now.Failed, created, skipped)
	}
	return took, err
}

func (im importer) upload(ctx context.Context, file string) (made importStatus, err error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "patients.csv")
	if err == nil {
		_, err = io.WriteString(part, file)
	}
	if err == nil {
		err = errors.Join(form.WriteField("format", "csv"), form.Close())
	}
	if err != nil {
		return made, fmt.Errorf("writing the form: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, im.api.BaseURL+"/clinic/api/v1/imports", &body)
	if err != nil {
		return made, fmt.Errorf("making request: %w", err)
	}
	req.Header = im.header.Clone()
	req.Header.Set("Content-Type", form.FormDataContentType())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return made, fmt.Errorf("uploading: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("uploading: %s: %s", resp.Status, raw)
	}
	if err != nil {
		return made, err
	}
	return made, json.Unmarshal(raw, &made)
}

// patientsCSV is so many patients, several times over.
func patientsCSV(patients, times int) string {
	var b strings.Builder
	b.WriteString("external_id;nome;telefone;email;cpf;data de nascimento\n")
	for range times {
		for i := range patients {
			fmt.Fprintf(&b, "P-%d;Maria das Dores %d;(11) 9%04d-%04d;maria%d@example.com;%s;%02d/%02d/19%02d\n",
				i, i, 6000+i/10_000, i%10_000, i, taxID(i), i%28+1, i%12+1, i%90+10)
		}
	}
	return b.String()
}

// taxID is a CPF with the right check digits.
func taxID(n int) string {
	digits := fmt.Sprintf("%09d", 100_000_000+n)
	for length := 9; length <= 10; length++ {
		sum := 0
		for i := range length {
			sum += int(digits[i]-'0') * (length + 1 - i)
		}
		digits += string(rune('0' + sum*10%11%10))
	}
	return digits
}
