package eventtype

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"integrationhub/hub"
)

// Bounds of what is said about one event's data.
const (
	maxViolations = 10
	maxName       = 64  // bytes of a member's name
	maxQuoted     = 200 // bytes of a schema's values
)

// Outcomes of events whose data does not agree with the schema of their type.
const (
	OutcomeWarned   = "warned"   // accepted, with a warning
	OutcomeRefused  = "refused"  //
	OutcomeAccepted = "accepted" // a hosted product's
)

// Violation is a place where data does not agree with its schema.
type Violation struct {
	Path    string // such as .customer.age; "" is the data itself
	Message string // the broken rule, without the submitted value
}

// Check compares data, which is one JSON value, with the schema. It returns at most ten
// violations, sorted by path, and none if the data agrees. Data whose check takes too long
// does not agree.
func (s *Schema) Check(data []byte) []Violation {
	violations, _ := s.CheckWithin(context.Background(), data, &Allowance{}, nil) // waits as long as it takes
	return violations
}

// CheckWithin is [Schema.Check] of one of several events, which takes from their allowance.
// Without any of it left, data does not agree. Large data waits for its product's share and for a
// place; where that takes too long, or until ctx has ended, it is a [hub.ErrUnavailable].
func (s *Schema) CheckWithin(ctx context.Context, data []byte, allowance *Allowance, share *Share) ([]Violation, error) {
	left := allowance.left()
	if left <= 0 {
		return []Violation{{Message: "is not checked: the schemas demand too many steps for the events of this request together"}}, nil
	}
	turn, err := s.takeTurn(ctx, len(data), share)
	if err != nil {
		return nil, err
	}
	defer turn.end()
	return s.check(data, allowance, left, turn), nil
}

// check compares data with the schema, in at most so many steps.
func (s *Schema) check(data []byte, allowance *Allowance, left int, turn *turn) []Violation {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return []Violation{{Message: "must be JSON"}}
	}
	if path, found := findOutOfRange(value, nil); found {
		return []Violation{{Path: locate(path, value), Message: "is a number beyond the range of a double"}}
	}
	if turn.instance == nil {
		if turn.instance, err = s.compile(); err != nil { // it was compiled before
			return []Violation{{Message: "cannot be checked: its schema cannot be compiled"}}
		}
	}
	own := turn.instance
	own.budget.left = left
	err = own.schema.Validate(value)
	allowance.used += left - own.budget.left
	if own.budget.left < 0 {
		return []Violation{{Message: "cannot be checked: its schema demands too many steps for data like this"}}
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	return violationsOf(invalid, value)
}

// Refuse returns a [hub.ErrInvalid] for places of data that do not agree with a schema; nil
// without any. location is where the data is in a request.
func Refuse(location string, violations []Violation) *hub.Error {
	if len(violations) == 0 {
		return nil
	}
	refusal := hub.Invalid(location+violations[0].Path, violations[0].Message)
	for _, violation := range violations[1:] {
		refusal.Fields = append(refusal.Fields, hub.FieldError{Location: location + violation.Path, Message: violation.Message})
	}
	return refusal
}

// isOutOfRange reports whether a number has an exponent far beyond those of doubles. The
// library computes with exact numbers: a number of ten characters would take seconds.
func isOutOfRange(number json.Number) bool {
	_, exponent, found := strings.Cut(strings.ToLower(string(number)), "e")
	if !found {
		return false
	}
	n, err := strconv.Atoi(exponent)
	return err != nil || n > maxExponent || n < -maxExponent
}

func findOutOfRange(value any, path []string) (found []string, ok bool) {
	switch v := value.(type) {
	case json.Number:
		return slices.Clone(path), isOutOfRange(v)
	case []any:
		for i, item := range v {
			if number, isNumber := item.(json.Number); isNumber && !isOutOfRange(number) {
				continue
			}
			if found, ok = findOutOfRange(item, append(path, strconv.Itoa(i))); ok {
				return found, true
			}
		}
	case map[string]any:
		for name, member := range v {
			if found, ok = findOutOfRange(member, append(path, name)); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// violationsOf lists what a validation found, at most [maxViolations].
func violationsOf(invalid *jsonschema.ValidationError, value any) []Violation {
	collector := violationCollector{value: value}
	collector.add(invalid)
	collector.placeNames()
	list := collector.list
	if len(list) == 0 {
		list = []Violation{{Message: "does not agree with the schema"}}
	}
	slices.SortFunc(list, func(a, b Violation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	list = slices.Compact(list)
	return list[:min(len(list), maxViolations)]
}

// violationCollector converts the library's tree of errors. Alternatives of anyOf and oneOf
// are one violation: what each of them demands would contradict the others.
type violationCollector struct {
	value any
	list  []Violation
	names map[string]string // messages by names of members
}

// maxCollected bounds the list before it is sorted.
const maxCollected = 1_000

func (c *violationCollector) add(e *jsonschema.ValidationError) {
	if len(c.list) >= maxCollected {
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			c.add(cause)
		}
	case *kind.Required:
		c.addMembers(e, k.Missing, "is required")
	case *kind.DependentRequired:
		c.addMembers(e, k.Missing, "is required where "+shorten(k.Prop, maxName)+" is present")
	case *kind.AdditionalProperties:
		c.addMembers(e, k.Properties, "is not a member that the schema allows")
	case *kind.PropertyNames:
		c.addName(e, k.Property)
	default:
		c.list = append(c.list, Violation{locate(e.InstanceLocation, c.value), messageOf(e.ErrorKind)})
	}
}

func (c *violationCollector) addMembers(e *jsonschema.ValidationError, names []string, message string) {
	for _, name := range names[:min(len(names), maxCollected)] {
		c.list = append(c.list, Violation{locate(append(slices.Clone(e.InstanceLocation), name), c.value), message})
	}
}

// typeNames are the types of JSON with their articles.
var typeNames = map[string]string{
	"integer": "an integer", "number": "a number", "string": "a string", "object": "an object",
	"array": "an array", "boolean": "true or false",
}

// messageOf says which rule is broken. It repeats what the schema has, never the data.
func messageOf(broken jsonschema.ErrorKind) string {
	count := func(relation string, n int, unit string) string {
		return "must have at " + relation + " " + strconv.Itoa(n) + " " + unit
	}
	switch k := broken.(type) {
	case *kind.Type:
		var names []string
		for _, name := range k.Want {
			if name != "null" {
				names = append(names, typeNames[name])
			}
		}
		if len(names) < len(k.Want) {
			names = append(names, "null")
		}
		return "must be " + strings.Join(names, " or ")
	case *kind.Enum:
		return "must be one of the values that the schema lists" + quoted(": ", k.Want)
	case *kind.Const:
		return "must be the value that the schema has" + quoted(": ", k.Want)
	case *kind.Pattern:
		return "must match the pattern " + shorten(k.Want, maxQuoted)
	case *kind.Format: // of a schema's schema: others are not checked
		return cmp.Or(patternReason(k.Err), notRE2)
	case *kind.MinLength:
		return count("least", k.Want, "characters")
	case *kind.MaxLength:
		return count("most", k.Want, "characters")
	case *kind.MinItems:
		return count("least", k.Want, "items")
	case *kind.MaxItems:
		return count("most", k.Want, "items")
	case *kind.MinProperties:
		return count("least", k.Want, "members")
	case *kind.MaxProperties:
		return count("most", k.Want, "members")
	case *kind.UniqueItems:
		return "must not have equal items"
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return "must have as many items of the kind that contains describes as the schema demands"
	case *kind.AnyOf:
		return "agrees with none of the alternatives of anyOf"
	case *kind.OneOf:
		return "must agree with exactly one alternative of oneOf"
	case *kind.Not, *kind.FalseSchema:
		return "is not allowed by the schema"
	case *kind.RefCycle:
		return "cannot be checked: the schema refers to itself without end"
	}
	return limitMessage(broken)
}

// limitMessage is [messageOf] for bounds of numbers.
func limitMessage(broken jsonschema.ErrorKind) string {
	switch k := broken.(type) {
	case *kind.Minimum:
		return "must be at least " + formatNumber(k.Want)
	case *kind.Maximum:
		return "must be at most " + formatNumber(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + formatNumber(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + formatNumber(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + formatNumber(k.Want)
	}
	return "does not agree with the schema"
}

func formatNumber(n *big.Rat) string {
	if n.IsInt() && n.Num().BitLen() <= 128 {
		return n.Num().String()
	}
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// quoted returns a schema's value as JSON, if it is short.
func quoted(before string, value any) string {
	text, err := json.Marshal(value)
	if err != nil || len(text) > maxQuoted {
		return ""
	}
	return before + string(text)
}

func shorten(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// locate writes a place of a value, with the indexes of arrays: .items[3].price.
func locate(names []string, value any) string {
	var path strings.Builder
	for _, name := range names {
		if list, isList := value.([]any); isList {
			path.WriteString("[" + name + "]")
			value = nil
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(list) {
				value = list[i]
			}
			continue
		}
		members, _ := value.(map[string]any)
		value = members[name]
		appendMember(&path, name)
	}
	return path.String()
}

// appendMember writes .name, and what is no plain name as ["na me"].
func appendMember(path *strings.Builder, name string) {
	isPlain := name != ""
	for _, r := range name {
		if r != '_' && r != '-' && r != '$' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			isPlain = false
		}
	}
	if name = shorten(name, maxName); isPlain {
		path.WriteString("." + name)
		return
	}
	path.WriteString("[" + strconv.Quote(name) + "]")
}
