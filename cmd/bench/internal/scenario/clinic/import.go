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

// importSize is the number of patients of the goal.
const importSize = 10_000

// importTimeout is the longest time of an import.
const importTimeout = 10 * time.Minute

// pollInterval is the time between two requests for the status: users have a rate limit.
const pollInterval = 200 * time.Millisecond

// MeasureImport measures imports of patients from a CSV file.
func MeasureImport(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var clinic struct {
		AccessToken string `json:"access_token"`
	}
	err = gateway.API.CallPath(ctx, http.MethodPost, "/clinic/api/v1/auth/register", nil, map[string]any{
		"clinic_name": "Bench", "name": "Bench", "email": hubapi.AdminEmail, "password": "bench bench bench",
	}, &clinic)
	if err != nil {
		return nil, err
	}
	im := importer{st, &gateway.API, hubapi.Bearer(clinic.AccessToken)}
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
		duration, err := im.run(ctx, step.file, step.created, step.skipped)
		if err != nil {
			return nil, err
		}
		result.Figures[step.figure] = duration.Seconds()
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

// importJob is the status of an import.
type importJob struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Created int    `json:"created"`
	Skipped int    `json:"skipped"`
	Failed  int    `json:"failed"`
}

// run imports a file, and requires the numbers of created and skipped patients.
func (im importer) run(ctx context.Context, file string, created, skipped int) (time.Duration, error) {
	began := time.Now()
	job, err := im.upload(ctx, file)
	if err != nil {
		return 0, err
	}
	path := "/clinic/api/v1/imports/" + job.ID
	var status importJob
	err = im.stage.Process.WaitUntil(ctx, importTimeout, func() error {
		time.Sleep(pollInterval)
		if err := im.api.CallPath(ctx, http.MethodGet, path, im.header, nil, &status); err != nil {
			return err
		}
		if status.Status != "done" {
			return errors.New("the import goes on")
		}
		return nil
	})
	duration := time.Since(began)
	if err == nil && (status.Created != created || status.Skipped != skipped || status.Failed != 0) {
		err = fmt.Errorf("an import made %d patients, skipped %d and failed with %d; %d and %d were expected", status.Created, status.Skipped, status.Failed, created, skipped)
	}
	return duration, err
}

func (im importer) upload(ctx context.Context, file string) (job importJob, err error) {
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
		return job, fmt.Errorf("writing the form: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, im.api.BaseURL+"/clinic/api/v1/imports", &body)
	if err != nil {
		return job, fmt.Errorf("making request: %w", err)
	}
	req.Header = im.header.Clone()
	req.Header.Set("Content-Type", form.FormDataContentType())
	resp, err := hubapi.HTTPClient.Do(req)
	if err != nil {
		return job, fmt.Errorf("uploading: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("uploading: %s: %s", resp.Status, raw)
	}
	if err != nil {
		return job, err
	}
	return job, json.Unmarshal(raw, &job)
}

// patientsCSV returns a file of patients, repeated some times.
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

// taxID returns a CPF with valid check digits.
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
