package httpx_test

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
)

// parcel is a body with every kind of member.
type parcel struct {
	Name    string            `json:"name,omitempty"`
	Comment string            `json:"comment,omitempty" nullable:"true"`
	Sender  *address          `json:"sender,omitempty"`
	Stops   []address         `json:"stops,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Data    any               `json:"data,omitempty"`
}

type address struct {
	City string `json:"city,omitempty"`
}

func TestCheckNulls(t *testing.T) {
	t.Parallel()
	cfg := huma.DefaultConfig("test", "1")
	httpx.InstallHuma(&cfg, slog.New(slog.DiscardHandler)) // before schemas are made: they read what it sets
	schemas := cfg.Components.Schemas
	body := &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(reflect.TypeFor[parcel](), true, "")}}}
	op := &huma.Operation{RequestBody: body}
	for sent, want := range map[string][]string{
		`{"name":"null","comment":null,"unknown":null,"data":{"a":null}}`: nil,
		`null`:                                    nil,
		`{"name":null`:                            nil, // refused elsewhere
		`{"name":null}`:                           {"body.name"},
		`{"NAME":null}`:                           {"body.NAME"},
		`{"sender":null,"name":null}`:             {"body.name", "body.sender"},
		`{"sender":{"city":null}}`:                {"body.sender.city"},
		`{"stops":[null,{"city":null},{}]}`:       {"body.stops[0]", "body.stops[1].city"},
		`{"stops":null}`:                          {"body.stops"},
		`{"labels":{"a":"b","c":null}}`:           {"body.labels.c"},
		`[null]`:                                  nil,
		`{"stops":{"city":null},"sender":[null]}`: nil,
	} {
		var locations []string
		var invalid *hub.Error
		if err := httpx.CheckNulls(schemas, op, []byte(sent)); errors.As(err, &invalid) {
			require.ErrorIs(t, err, hub.ErrInvalid)
			for _, field := range invalid.Fields {
				require.Equal(t, "must not be null", field.Message)
				locations = append(locations, field.Location)
			}
		}
		require.Equal(t, want, locations, sent)
	}
	var invalid *hub.Error
	require.ErrorAs(t, httpx.CheckNulls(schemas, op, []byte(`{"stops":[null`+strings.Repeat(`,null`, 99)+`]}`)), &invalid)
	require.Len(t, invalid.Fields, 20)
	require.NoError(t, httpx.CheckNulls(schemas, &huma.Operation{}, []byte(`null`)))
	body.Required = true
	require.Error(t, httpx.CheckNulls(schemas, op, []byte(`null`)))
}
