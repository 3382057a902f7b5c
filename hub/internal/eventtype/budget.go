package eventtype

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSteps bounds the check of one event's data. Most steps take less than a tenth of a microsecond;
// ordinary data takes a few for each of its values. Schemas can demand exponentially many:
// two references to itself, and data of 64 levels.
const maxSteps = 1_000_000

// maxRequestSteps bounds the checks of the events of one request. A step that compares numbers,
// or data that does not agree, can take a microsecond.
const maxRequestSteps = 2_000_000

// Allowance is what the checks of the events of one request may take together. The zero value
// is unused.
type Allowance struct {
	used    int
	schemas any
}

// Renew makes the allowance unused if the schemas are others than before.
func (a *Allowance) Renew(schemas any) {
	if a.schemas != schemas {
		a.used, a.schemas = 0, schemas
	}
}

// left returns how many steps the next check may take.
func (a *Allowance) left() int { return min(maxSteps, maxRequestSteps-a.used) }

// maxProgram bounds a regular expression, in instructions of its program.
const maxProgram = 2_000

// budget counts the steps of a check.
type budget struct {
	left  int
	nodes int // subschemas
}

func newBudget() *budget { return &budget{left: maxSteps} }

var errTooManySteps = errors.New("the check takes too many steps")

// spend takes steps; an error once none are left.
func (b *budget) spend(steps int) error {
	if b.left -= steps; b.left < 0 {
		return errTooManySteps
	}
	return nil
}

// countSteps makes every subschema count what its evaluation takes. It does so by a format,
// which the library asks before it descends.
func (b *budget) countSteps(root *jsonschema.Schema) {
	queue, seen := []*jsonschema.Schema{root}, map[*jsonschema.Schema]bool{root: true}
	for len(queue) > 0 {
		schema := queue[0]
		queue = queue[1:]
		b.nodes++
		inPlace, below := applied(schema)
		for _, sub := range append(inPlace, below...) {
			if !seen[sub] {
				seen[sub] = true
				queue = append(queue, sub)
			}
		}
		once, each := 1+len(schema.Required), 1+len(schema.PatternProperties)
		for _, sub := range inPlace {
			once += comparisons(sub)
		}
		for _, sub := range schema.PrefixItems {
			once += comparisons(sub)
		}
		for _, sub := range below {
			each = max(each, len(schema.PatternProperties)+comparisons(sub))
		}
		schema.Format = &jsonschema.Format{Name: "steps", Validate: func(value any) error {
			switch v := value.(type) {
			case map[string]any:
				return b.spend(once + each*len(v))
			case []any:
				return b.spend(once + each*len(v))
			}
			return b.spend(once)
		}}
	}
}

// comparisons returns how many values a subschema compares with before its format is asked.
func comparisons(schema *jsonschema.Schema) int {
	if schema.Enum == nil {
		return 1
	}
	return 1 + len(schema.Enum.Values)
}

// applied returns the subschemas that apply to the same value, and those of members and
// items.
func applied(s *jsonschema.Schema) (inPlace, below []*jsonschema.Schema) {
	add := func(list *[]*jsonschema.Schema, subs ...*jsonschema.Schema) {
		for _, sub := range subs {
			if sub != nil {
				*list = append(*list, sub)
			}
		}
	}
	add(&inPlace, s.Ref, s.Not, s.If, s.Then, s.Else)
	add(&inPlace, s.AllOf...)
	add(&inPlace, s.AnyOf...)
	add(&inPlace, s.OneOf...)
	for _, sub := range s.DependentSchemas {
		add(&inPlace, sub)
	}
	for _, dependency := range s.Dependencies {
		if sub, ok := dependency.(*jsonschema.Schema); ok {
			add(&inPlace, sub)
		}
	}
	for _, sub := range s.Properties {
		add(&below, sub)
	}
	for _, sub := range s.PatternProperties {
		add(&below, sub)
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		add(&below, sub)
	}
	add(&below, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems)
	add(&below, s.PrefixItems...)
	return inPlace, below
}

// boundedRegexp counts what matching takes.
type boundedRegexp struct {
	*regexp.Regexp
	runs    *runs // the same; nil: it is no sequence of runs
	program int   // instructions
	budget  *budget
}

// stepsPerMatch is how many bytes times instructions of a regular expression count as a step.
const stepsPerMatch = 64

// MatchString implements jsonschema.Regexp. Without steps left it matches nothing.
func (r boundedRegexp) MatchString(text string) bool {
	if r.budget.spend(1+len(text)*r.program/stepsPerMatch) != nil {
		return false
	}
	if r.runs != nil {
		return r.runs.match(text)
	}
	return r.Regexp.MatchString(text)
}

var (
	errPatternLength  = errors.New("has a regular expression of more than 500 bytes")
	errPatternProgram = errors.New("has a regular expression that is too large")
)

const notRE2 = "has a regular expression that is not one of RE2"

// patternReason returns why a regular expression is beyond the bounds; "": it is not.
func patternReason(err error) string {
	for _, reason := range []error{errPatternLength, errPatternProgram} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return ""
}

// compileRegexp implements jsonschema.RegexpEngine with Go's expressions, RE2: matching takes
// time linear in the text.
func (b *budget) compileRegexp(expression string) (jsonschema.Regexp, error) {
	if len(expression) > maxPattern {
		return nil, errPatternLength
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller shows its own message
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	if len(program.Inst) > maxProgram {
		return nil, errPatternProgram
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	return boundedRegexp{compiled, runsOf(parsed), len(program.Inst), b}, nil
}
