package eventtype_test

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/eventtype"
)

// manyValues returns n values of an enum. The first is 1, so that a comparison is short.
func manyValues(n int) string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprint(i + 1)
	}
	return "[" + strings.Join(values, ",") + "]"
}

// What a check takes is counted exactly: a million steps are within the bound, more are not.
func TestStepsAreCounted(t *testing.T) {
	t.Parallel()
	const pattern = "^b|x{1000}"
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	require.NoError(t, err)
	program, err := syntax.Compile(parsed.Simplify())
	require.NoError(t, err)
	names, err := json.Marshal(numbers(499))
	require.NoError(t, err)
	required := strings.NewReplacer("[", `["`, ",", `","`, "]", `"]`).Replace(string(names))
	repeat := func(item string) func(int) string {
		return func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]" }
	}
	object := func(n int) string {
		return "{" + strings.Join(members(n), ",") + "}"
	}
	for name, test := range map[string]struct {
		schema string
		data   func(n int) string
		step   int // that one item or member takes; 1 more is the root's
	}{
		"values of an enum of items":       {`{"items":{"enum":` + manyValues(999) + `}}`, repeat("1"), 1000 + 1},
		"values of an enum in place":       {`{"items":{"allOf":[{"enum":` + manyValues(999) + `}]}}`, repeat("1"), 1 + 1001 + 1},
		"values of an enum of first items": {`{"items":{"prefixItems":[{"enum":` + manyValues(999) + `}]}}`, repeat("[1]"), 1 + 1001 + 1000 + 1},
		"required members":                 {`{"items":{"type":"array","required":` + required + `}}`, repeat("[]"), 1 + 500},
		"patterns beside items":            {`{"patternProperties":{` + strings.Join(patterns(99), ",") + `}}`, repeat("1"), 100},
		"values of an enum of members":     {`{"patternProperties":{"^a":{"enum":` + manyValues(999) + `}}}`, object, 1001 + 1 + 1},
		"values of an enum of properties":  {`{"additionalProperties":{"enum":` + manyValues(999) + `}}`, object, 1000 + 1},
		"a pattern of long texts":          {`{"items":{"pattern":"` + pattern + `"}}`, repeat(`"` + strings.Repeat("b", 640) + `"`), 1 + 1 + 1 + 10*len(program.Inst)},
	} {
		schema, most := compile(t, test.schema), (1_000_000-1)/test.step
		require.Empty(t, schema.Check([]byte(test.data(most))), name)
		require.Contains(t, text(schema.Check([]byte(test.data(most+1)))), "too many steps", name)
	}
}

// Schemas at their bounds are accepted.
func TestLargestSchemas(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"bytes":   `{"description":"` + strings.Repeat("a", eventtype.MaxSchema-len(`{"description":""}`)) + `"}`,
		"objects": `{"allOf":[` + strings.Repeat(`{},`, 4_998) + `{}]}`,
		"levels":  strings.Repeat(`{"not":`, 64) + `true` + strings.Repeat(`}`, 64),
		"pattern": `{"pattern":"` + strings.Repeat("a", 500) + `"}`,
		"numbers": `{"minimum":1e-400,"maximum":1E+400}`,
	} {
		_, err := eventtype.Compile([]byte(schema))
		require.NoError(t, err, name)
	}
	for name, schema := range map[string]string{
		"bytes":        `{"description":"` + strings.Repeat("a", eventtype.MaxSchema+1-len(`{"description":""}`)) + `"}`,
		"objects":      `{"allOf":[` + strings.Repeat(`{},`, 4_999) + `{}]}`,
		"levels":       strings.Repeat(`{"not":`, 65) + `true` + strings.Repeat(`}`, 65),
		"large number": `{"maximum":1e401}`,
		"small number": `{"minimum":1e-401}`,
	} {
		_, err := eventtype.Compile([]byte(schema))
		require.Error(t, err, name)
	}
	require.Equal(t, 4, compile(t, `{"properties":{"a":{"type":"string"},"b":{"items":{"$ref":"#"}},"c":true}}`).Nodes()-1, "the root and the members, items too")
}

// The program of a regular expression may have 2,000 instructions.
func TestLargestPatterns(t *testing.T) {
	t.Parallel()
	sizes := make(map[bool]int)
	for n := 996; n <= 999; n++ {
		pattern := fmt.Sprintf("a{1000}b{%d}", n)
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		require.NoError(t, err)
		program, err := syntax.Compile(parsed.Simplify())
		require.NoError(t, err)
		_, err = eventtype.Compile([]byte(`{"pattern":"` + pattern + `"}`))
		fits := len(program.Inst) <= 2000
		if fits {
			require.NoError(t, err, pattern)
			sizes[fits] = len(program.Inst)
		} else {
			require.EqualError(t, err, "schema.pattern has a regular expression that is too large")
			sizes[fits]++
		}
	}
	require.Equal(t, 2000, sizes[true])
	require.Positive(t, sizes[false])
}

// Numbers far beyond those of doubles are refused wherever they are.
func TestNumbersOutOfRange(t *testing.T) {
	t.Parallel()
	schema := compile(t, `{}`)
	for data, want := range map[string]string{
		`1e400`: "", `1E-400`: "", `[1,1e400,-1e400]`: "", `{"a":{"b":1e400}}`: "", `"1e999"`: "",
		`1e401`:                 " is a number beyond the range of a double",
		`1E-401`:                " is a number beyond the range of a double",
		`1e99999999999999999`:   " is a number beyond the range of a double",
		`[1,1e401]`:             "[1] is a number beyond the range of a double",
		`{"a":{"b":[[1e401]]}}`: ".a.b[0][0] is a number beyond the range of a double",
		`{`:                     " must be JSON",
	} {
		require.Equal(t, want, text(schema.Check([]byte(data))), data)
	}
}

func TestMessagesOfBounds(t *testing.T) {
	t.Parallel()
	member := func(name string) string { return `{"` + name + `":1}` }
	quoted := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for _, test := range []struct{ schema, data, want string }{
		{`{"maximum":1.5}`, `2`, " must be at most 1.5"},
		{`{"exclusiveMinimum":-1}`, `-1`, " must be more than -1"},
		{`{"minimum":340282366920938463463374607431768211455}`, `1`, " must be at least 340282366920938463463374607431768211455"},
		{`{"minimum":340282366920938463463374607431768211456}`, `1`, " must be at least 3.402823669209385e+38"},
		{`{"contains":{"type":"string"}}`, `[1]`, " must have as many items of the kind that contains describes as the schema demands"},
		{`{"type":["null","array","boolean"]}`, `1`, " must be true or false or an array or null"},
		{`{"const":` + quoted(200) + `}`, `1`, " must be the value that the schema has: " + quoted(200)},
		{`{"const":` + quoted(201) + `}`, `1`, " must be the value that the schema has"},
		{`{"pattern":"` + strings.Repeat("x", 200) + `"}`, `""`, " must match the pattern " + strings.Repeat("x", 200)},
		{`{"pattern":"` + strings.Repeat("x", 199) + `éx"}`, `""`, " must match the pattern " + strings.Repeat("x", 199) + "…"},
		{`{"additionalProperties":false}`, member(strings.Repeat("a", 64)), "." + strings.Repeat("a", 64) + " is not a member that the schema allows"},
		{`{"additionalProperties":false}`, member(strings.Repeat("a", 65)), "." + strings.Repeat("a", 64) + "… is not a member that the schema allows"},
	} {
		require.Equal(t, test.want, text(compile(t, test.schema).Check([]byte(test.data))), test.schema)
	}
	closed := compile(t, `{"additionalProperties":false}`)
	require.Equal(t, ".azAZ09_-$", closed.Check([]byte(member("azAZ09_-$")))[0].Path)
	for _, other := range []string{"", "/", ":", "@", "[", "`", "{", "é", "a b"} {
		require.Equal(t, `["`+other+`"]`, closed.Check([]byte(member(other)))[0].Path)
	}
}

// A thousand violations are collected. Ten of them are returned.
func TestCollectedViolations(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, violation := range compile(t, `{"items":{"type":"string"}}`).Check([]byte("[" + strings.Repeat("1,", 1500) + "1]")) {
		paths = append(paths, violation.Path)
	}
	require.Equal(t, []string{"[0]", "[100]", "[101]", "[102]", "[103]", "[104]", "[105]", "[106]", "[107]", "[108]"}, paths, "[1000] is not collected")
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	require.Nil(t, eventtype.Refuse("body.data", nil))
	refusal := eventtype.Refuse("body.data", []eventtype.Violation{{Path: ".a", Message: "is required"}, {Path: ".b", Message: "must be a string"}})
	require.Len(t, refusal.Fields, 2)
	require.Equal(t, "body.data.a is required; body.data.b must be a string",
		refusal.Fields[0].Location+" "+refusal.Fields[0].Message+"; "+refusal.Fields[1].Location+" "+refusal.Fields[1].Message)
}

// The place of a name that is not allowed is that of the only member which has it.
func TestNamesOfMembers(t *testing.T) {
	t.Parallel()
	schema := compile(t, `{"properties":{"a":{"items":{"propertyNames":{"maxLength":2}}}},"propertyNames":{"pattern":"^[a-z]*$"}}`)
	for data, want := range map[string]string{
		`{"a":[{"b":1},{"cde":{"b":1}}]}`:           ".a[1].cde has a name that the schema does not allow",
		`{"a":[{"cde":1}],"A":1}`:                   ".A has a name that the schema does not allow; .a[0].cde has a name that the schema does not allow",
		`{"a":[{"cde":1},{"cde":1},{"cde":1}]}`:     " has members whose names the schema does not allow",
		`{"a":[{"cde":1}],"b":[[{"x":{"cde":1}}]]}`: " has members whose names the schema does not allow",
	} {
		require.Equal(t, want, text(schema.Check([]byte(data))), data)
	}
	require.Len(t, compile(t, `{"propertyNames":{"maxLength":1}}`).Check([]byte(`{`+strings.Join(members(20_000), ",")+`}`)), 10)
	for schema, want := range map[string]string{
		`{"properties":{"a/b":{"patternProperties":{"(?<=a)":{}}}}}`:    `schema.properties["a/b"].patternProperties["(?<=a)"] has a regular expression that is not one of RE2`,
		`{"patternProperties":{"` + strings.Repeat("a", 501) + `":{}}}`: `schema.patternProperties.` + strings.Repeat("a", 64) + `… has a regular expression of more than 500 bytes`,
	} {
		_, err := eventtype.Compile([]byte(schema))
		require.EqualError(t, err, want)
	}
}

func within(t *testing.T, schema *eventtype.Schema, data []byte, allowance *eventtype.Allowance) []eventtype.Violation {
	t.Helper()
	violations, err := schema.CheckWithin(t.Context(), data, allowance, nil)
	require.NoError(t, err)
	return violations
}

// Events of one request share an allowance, which other schemas make anew.
func TestEventsOfARequestShareSteps(t *testing.T) {
	t.Parallel()
	schema := compile(t, `{"items":{"enum":`+manyValues(999)+`}}`)
	data := []byte("[" + strings.TrimSuffix(strings.Repeat("1,", 900), ",") + "]") // 900 × 1,000 steps and one
	allowance := &eventtype.Allowance{}
	allowance.Renew("old")
	for range 2 {
		require.Empty(t, within(t, schema, data, allowance))
	}
	require.Contains(t, text(within(t, schema, data, allowance)), "too many steps for data like this", "less than one check is left")
	require.Contains(t, text(within(t, schema, []byte("[]"), allowance)), "for the events of this request together")
	allowance.Renew("old")
	require.NotEmpty(t, within(t, schema, []byte("[]"), allowance))
	allowance.Renew("new")
	require.Empty(t, within(t, schema, data, allowance))
	require.Empty(t, schema.Check(data), "other requests have their own")
}
