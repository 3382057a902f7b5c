package eventtype_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/eventtype"
)

func BenchmarkCheck(b *testing.B) {
	data := []byte(`{"n":12345,"t":1772452800123456789,"text":"` + strings.Repeat("aZ09", 240) + `"}`)
	for name, text := range map[string]string{"plain": `{"type":"string","maxLength":2000}`, "pattern": `{"type":"string","pattern":"^[0-9A-Za-z]*$"}`} {
		schema, err := eventtype.Compile([]byte(`{"type":"object","required":["n","t","text"],"additionalProperties":false,"properties":{
			"n":{"type":"integer","minimum":0},"t":{"type":"integer"},"text":` + text + `}}`))
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if schema.Check(data) != nil {
					b.Fatal("does not agree")
				}
			}
		})
	}
}
