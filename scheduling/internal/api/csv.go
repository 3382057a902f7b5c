package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
)

// tabular is a report that can be written as CSV. The first row holds the column names.
type tabular interface{ table() [][]any }

const mediaCSV = "text/csv"

// reportOutput writes its body as JSON or CSV.
type reportOutput struct {
	Body func(huma.Context)
}

// bindReport binds a report handler to its route: JSON, or CSV if Accept asks for it.
func bindReport[I any, O tabular](handler func(context.Context, *I) (O, error)) func(huma.API, huma.Operation) {
	return func(api huma.API, op huma.Operation) {
		schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[O](), true, "Report")
		op.Responses = map[string]*huma.Response{strconv.Itoa(op.DefaultStatus): {
			Description: "The report",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}, mediaCSV: {Schema: &huma.Schema{Type: huma.TypeString}}},
		}}
		huma.Register(api, op, func(ctx context.Context, in *I) (*reportOutput, error) {
			result, err := handler(ctx, in)
			if err != nil {
				return nil, mapError(dberr.Wrap(op.OperationID, err))
			}
			return &reportOutput{func(c huma.Context) {
				media, body, err := encodeReport(c.Header("Accept"), result)
				if err != nil {
					_ = huma.WriteErr(api, c, 500, "", err)
					return
				}
				c.SetHeader("Content-Type", media)
				_, _ = c.BodyWriter().Write(body) // the caller has gone, where it fails
			}}, nil
		})
	}
}

func encodeReport(accept string, result tabular) (media string, body []byte, err error) {
	if !strings.Contains(accept, mediaCSV) {
		body, err = json.Marshal(result)
		return "application/json", body, err
	}
	var buffer bytes.Buffer
	w := csv.NewWriter(&buffer)
	for _, row := range result.table() {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = formatCell(value)
		}
		if err := w.Write(cells); err != nil {
			return "", nil, err
		}
	}
	w.Flush()
	return mediaCSV + "; charset=utf-8", buffer.Bytes(), w.Error()
}

// formatCell formats a CSV value.
func formatCell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return rest.EscapeCSVCell(v)
	case *string:
		if v == nil {
			return ""
		}
		return formatCell(*v)
	case *time.Time:
		if v == nil {
			return ""
		}
		return v.Format(time.RFC3339)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case booking.Cents:
		return v.String()
	}
	return fmt.Sprint(value)
}
