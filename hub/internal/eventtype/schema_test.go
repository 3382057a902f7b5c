package eventtype_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/eventtype"
)

func compile(t *testing.T, schema string) *eventtype.Schema {
	t.Helper()
	compiled, err := eventtype.Compile([]byte(schema))
	require.NoError(t, err)
	return compiled
}

func TestViolationsNameThePlaceAndTheRule(t *testing.T) {
	t.Parallel()
	schema := compile(t, `{
		"type": "object", "required": ["id"], "additionalProperties": false, "dependentRequired": {"id": ["total"]},
		"properties": {
			"id": {"type": "string", "pattern": "^ord_"}, "total": {"type": "number", "minimum": 0, "multipleOf": 0.01},
			"state": {"enum": ["open", "paid"]}, "version": {"const": 2}, "note": {"type": ["string", "null"], "maxLength": 3, "minLength": 1},
			"items": {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": true, "items": {"$ref": "#/$defs/item"}},
			"odd": {"not": {"type": "string"}}, "either": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "one": {"oneOf": [{"type": "number"}, {"type": "integer"}]},
			"customer": {"type": "object", "properties": {"age": {"type": "integer", "exclusiveMaximum": 150}}, "minProperties": 1, "maxProperties": 2}
		},
		"$defs": {"item": {"type": "object", "required": ["sku"], "properties": {"na me": {"type": "string"}}}}}`)
	for data, want := range map[string]string{
		`{"id":"ord_1","total":1}`:                                "",
		`{"id":"ord_1","total":150.10,"note":null}`:               "",
		`{"id":"ord_1","total":1,"customer":{"age":"x"}}`:         ".customer.age must be an integer",
		`{"id":"ord_1","total":1,"customer":{"age":150}}`:         ".customer.age must be less than 150",
		`{"id":"ord_1","total":1,"customer":{}}`:                  ".customer must have at least 1 members",
		`{"id":"ord_1","total":1,"customer":{"a":1,"b":2,"c":3}}`: ".customer must have at most 2 members",
		`{}`:                           ".id is required",
		`{"id":"ord_1"}`:               ".total is required where id is present",
		`{"id":"secret","total":1}`:    ".id must match the pattern ^ord_",
		`{"id":"ord_1","total":-1}`:    ".total must be at least 0",
		`{"id":"ord_1","total":0.001}`: ".total must be a multiple of 0.01",
		`{"id":"ord_1","total":1,"state":"secret"}`:              `.state must be one of the values that the schema lists: ["open","paid"]`,
		`{"id":"ord_1","total":1,"version":3}`:                   ".version must be the value that the schema has: 2",
		`{"id":"ord_1","total":1,"note":"long"}`:                 ".note must have at most 3 characters",
		`{"id":"ord_1","total":1,"note":""}`:                     ".note must have at least 1 characters",
		`{"id":"ord_1","total":1,"note":1}`:                      ".note must be a string or null",
		`{"id":"ord_1","total":1,"items":[]}`:                    ".items must have at least 1 items",
		`{"id":"ord_1","total":1,"items":[{"sku":1},{"sku":1}]}`: ".items must not have equal items",
		`{"id":"ord_1","total":1,"items":[{"sku":1},{}]}`:        ".items[1].sku is required",
		`{"id":"ord_1","total":1,"items":[{"sku":1,"na me":1}]}`: `.items[0]["na me"] must be a string`,
		`{"id":"ord_1","total":1,"secret":1}`:                    ".secret is not a member that the schema allows",
		`{"id":"ord_1","total":1,"odd":"x"}`:                     ".odd is not allowed by the schema",
		`{"id":"ord_1","total":1,"either":1}`:                    ".either agrees with none of the alternatives of anyOf",
		`{"id":"ord_1","total":1,"one":1}`:                       ".one must agree with exactly one alternative of oneOf",
		`{"id":"ord_1","total":1e999999}`:                        ".total is a number beyond the range of a double",
		`{"id":1,"total":"x"}`:                                   ".id must be a string; .total must be a number",
		`[]`:                                                     " must be an object",
	} {
		require.Equal(t, want, text(schema.Check([]byte(data))), data)
	}
}

func text(violations []eventtype.Violation) string {
	parts := make([]string, len(violations))
	for i, violation := range violations {
		parts[i] = violation.Path + " " + violation.Message
	}
	return strings.Join(parts, "; ")
}

func TestAtMostTenViolationsInOrder(t *testing.T) {
	t.Parallel()
	schema := compile(t, `{"items": {"type": "string"}}`)
	violations := schema.Check([]byte("[" + strings.Repeat("1,", 50_000) + "1]"))
	require.Len(t, violations, 10)
	require.Equal(t, "[0]", violations[0].Path)
}

func TestBadSchemasAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70)
	for schema, want := range map[string]string{
		`[]`:               "schema must be a JSON object",
		`true`:             "schema must be a JSON object",
		`{"type":`:         "schema must be JSON",
		`{"type":"strin"}`: "schema.type",
		`{"properties":{"age":{"type":"integer","minimum":"0"}}}`:                          "schema.properties.age.minimum must be a number",
		`{"properties":{"a":{"$ref":"https://example.com/a.json"}}}`:                       "schema.properties.a.$ref refers to something outside of the schema",
		`{"properties":{"a":{"$ref":"other.json"}}}`:                                       "schema.properties.a.$ref refers to something outside of the schema",
		`{"$ref":"file:///etc/passwd"}`:                                                    "schema.$ref refers to something outside of the schema",
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`:                          "schema.$ref refers to something outside of the schema",
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`:                            "schema.$schema must be https://json-schema.org/draft/2020-12/schema",
		`{"$schema":"https://example.com/mine"}`:                                           "schema.$schema must be https://json-schema.org/draft/2020-12/schema",
		`{"$ref":"#/$defs/nothing"}`:                                                       "schema has a $ref to a place that does not exist: #/$defs/nothing",
		`{"$ref":"#nothing"}`:                                                              "schema has a $ref to an anchor that does not exist: #nothing",
		`{"$ref":"https://example.com/a#b","$defs":{"a":{"$id":"https://example.com/a"}}}`: "an anchor that does not exist: https://example.com/a#b",
		`{"$ref":"http://json-schema.org/draft-07/schema"}`:                                "schema.$ref refers to something outside of the schema",
		`{"items":{"$dynamicAnchor":"a"}}`:                                                 "schema.items.$dynamicAnchor is not supported; use $ref",
		`{"$recursiveRef":"#"}`:                                                            "schema.$recursiveRef is not supported; use $ref",
		`{"allOf":[{},{"minimum":1e999}]}`:                                                 "schema.allOf[1].minimum is a number beyond the range of a double",
		`{"allOf":[{},{"type":5}]}`:                                                        "schema.allOf[1].type",
		`{"$defs":{"na me/~x":{"allOf":[{},{"type":5}]}},"$ref":"#/$defs/na%20me~1~0x"}`:   "schema.$defs[\"na me/~x\"].allOf[1].type",
		`{"allOf":[{"$ref":"#"},{"$ref":"a.json"},{"$ref":"b.json"}]}`:                     "schema.allOf[1].$ref refers to something outside of the schema",
		`{"x":[{"allOf":[{"type":5}]}],"$ref":"#/x/0"}`:                                    "schema.x[0].allOf[0].type ",
		`{"$dynamicRef":"#a"}`:                                                             "schema.$dynamicRef is not supported; use $ref",
		`{"properties":{"a":{"pattern":"(?<=a)b"}}}`:                                       "regular expression that is not one of RE2",
		`{"pattern":"` + strings.Repeat("a", 501) + `"}`:                                   "has a regular expression of more than 500 bytes",
		`{"pattern":"(` + strings.Repeat("a", 400) + `){900}"}`:                            "has a regular expression that is too large",
		`{"minimum":1e999999}`:                                                             "schema.minimum is a number beyond the range of a double",
		`{"description":"` + strings.Repeat("a", eventtype.MaxSchema) + `"}`:               "schema must have at most 65536 bytes",
		`{"allOf":[` + strings.Repeat(`{},`, 5_000) + `{}]}`:                               "schema must have at most 5000 objects",
		deep: "schema must be nested at most 64 levels deep",
	} {
		_, err := eventtype.Compile([]byte(schema))
		require.Error(t, err, schema)
		require.Contains(t, err.Error(), want)
	}
}

func TestReferencesWithinASchemaWork(t *testing.T) {
	t.Parallel()
	tree := compile(t, `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}},"name":{"type":"string"}}}`)
	require.Empty(t, tree.Check([]byte(`{"children":[{"children":[{"name":"a"}]}]}`)))
	require.Equal(t, ".children[0].children[0].name must be a string", text(tree.Check([]byte(`{"children":[{"children":[{"name":1}]}]}`))))
	named := compile(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema#","properties":{"$ref":{"type":"string"},"$schema":{"const":1}}}`)
	require.Equal(t, ".$ref must be a string", text(named.Check([]byte(`{"$ref":1,"$schema":1}`))), "members may have such names")
	bundled := compile(t, `{"properties":{"a":{"$ref":"https://example.com/a"}},"$defs":{"a":{"$id":"https://example.com/a","type":"integer"}}}`)
	require.Equal(t, ".a must be an integer", text(bundled.Check([]byte(`{"a":"x"}`))))
	cyclic := compile(t, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`)
	require.Contains(t, text(cyclic.Check([]byte(`{}`))), "refers to itself without end")
}

// Schemas that make the library work exponentially long, and data that makes it compute with
// huge numbers, end at the bound.
func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"x":`, 60) + `{}` + strings.Repeat(`}`, 60)
	lists := strings.Repeat(`[`, 60) + `0` + strings.Repeat(`]`, 60)
	enum, err := json.Marshal(numbers(6_500))
	require.NoError(t, err)
	doubling := make([]string, 0, 60)
	for i := range 60 {
		doubling = append(doubling, fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1))
	}
	numbersList, err := json.Marshal(numbers(40_000))
	require.NoError(t, err)
	for name, c := range map[string]struct{ schema, data string }{
		"two references to itself":     {`{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, nested},
		"references below not":         {`{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"required":["x"],"properties":{"x":{"$ref":"#/$defs/a"}},"patternProperties":{"x":{"$ref":"#/$defs/a"}}}}}`, nested},
		"dependent schemas below not":  {`{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"required":["x"],"properties":{"x":{"$ref":"#/$defs/a"}},"dependentSchemas":{"x":{"properties":{"x":{"$ref":"#/$defs/a"}}}}}}}`, nested},
		"items and contains below not": {`{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"},"contains":{"$ref":"#/$defs/a"}}}}`, lists},
		"doubling":                     {`{"$ref":"#/$defs/a0","$defs":{` + strings.Join(doubling, ",") + `,"a60":{}}}`, `{}`},
		"large enum":                   {`{"items":{"enum":` + string(enum) + `}}`, string(numbersList)},
		"large pattern":                {`{"items":{"pattern":"(a|b|c|d|e|[a-z]+){60}x"}}`, `["` + strings.Repeat("a", 200_000) + `"]`},
		"many patterns":                {`{"patternProperties":{` + strings.Join(patterns(900), ",") + `}}`, `{` + strings.Join(members(20_000), ",") + `}`},
	} {
		schema := compile(t, c.schema)
		require.Contains(t, text(schema.Check([]byte(c.data))), "too many steps", name)
		if name != "doubling" { // no data is easy there
			require.NotContains(t, text(schema.Check([]byte(`{"x":1}`))), "too many steps", "%s: the bound is of each check", name)
		}
	}
	huge := compile(t, `{"items":{"type":"integer"}}`)
	require.Contains(t, text(huge.Check([]byte(`[`+strings.Repeat(`1e999999,`, 20_000)+`1]`))), "beyond the range")
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 10_000_000 + i
	}
	return list
}

func patterns(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"^a.*b%d$":{}`, i)
	}
	return list
}

func members(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"a%d":1`, i)
	}
	return list
}

// Ordinary data of the largest event is far from the bound.
func TestLargeOrdinaryDataIsChecked(t *testing.T) {
	t.Parallel()
	schema := compile(t, `{"type":"object","required":["rows"],"properties":{"rows":{"type":"array","items":{
		"type":"object","required":["id","at"],"additionalProperties":false,
		"properties":{"id":{"type":"string","pattern":"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},"at":{"type":"string","format":"date-time"},"state":{"enum":["a","b","c"]}}}}}}`)
	row := `{"id":"019bd2a4-7c1e-7a55-9d0c-2f6f5a0e9b11","at":"2026-03-02T12:00:00Z","state":"a"}`
	data := `{"rows":[` + strings.Repeat(row+",", 256<<10/len(row)) + row + `]}`
	require.Empty(t, schema.Check([]byte(data)))
	broken := strings.TrimSuffix(data, row+"]}") + strings.Replace(row, `"a"`, `"x"`, 1) + "]}"
	require.Contains(t, text(schema.Check([]byte(broken))), ".state must be one of the values")
}

func TestChecksRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	schema := compile(t, `{"properties":{"age":{"type":"integer"}}}`)
	var group sync.WaitGroup
	results := make([]string, 64)
	for i := range results {
		group.Go(func() {
			data := `{"age":1}`
			if i%2 == 1 {
				data = `{"age":"x"}`
			}
			results[i] = text(schema.Check([]byte(data)))
		})
	}
	group.Wait()
	for i, result := range results {
		require.Equal(t, i%2 == 1, result != "", result)
	}
}
