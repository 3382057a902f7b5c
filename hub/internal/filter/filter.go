// Package filter decides which events an endpoint gets, by an expression of its owner in CEL,
// the Common Expression Language (https://cel.dev).
package filter

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
)

// Bounds of a filter.
const (
	MaxSize = 2048 // bytes of the expression
	// MaxCost bounds one evaluation, in the units of CEL: about the steps it takes. An event
	// that costs more is an error of the filter.
	MaxCost = 10_000
	// interruptEvery is after how many elements of a list an evaluation looks whether its
	// context has ended.
	interruptEvery = 100
)

// Filter is an expression over an event. It is compiled when it is first evaluated, and safe
// for concurrent use.
type Filter struct {
	text     string
	compile  func() (*compiled, error)
	lastCost atomic.Uint64
}

type compiled struct {
	program cel.Program
	ast     *cel.Ast
}

// New returns the filter of an expression that [Check] accepted. A text that does not compile
// is an error of each evaluation.
func New(text string) *Filter {
	return &Filter{text: text, compile: sync.OnceValues(func() (*compiled, error) { return compile(text) })}
}

// Check returns an error that says what is wrong with an expression, and where.
func Check(text string) error {
	if len(text) > MaxSize {
		return fmt.Errorf("must have at most %d bytes", MaxSize)
	}
	_, err := compile(text)
	return err
}

// Text returns the expression.
func (f *Filter) Text() string { return f.text }

// LastCost returns what the last evaluation cost, in the units of CEL; 0 before the first.
func (f *Filter) LastCost() uint64 { return f.lastCost.Load() }

// environment declares what an expression may use: the variable event, CEL's standard
// functions, and comparisons of integers with doubles.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	env, err := cel.NewEnv(
		ext.NativeTypes(reflect.TypeFor[Envelope](), ext.ParseStructTags(true)),
		cel.Variable("event", cel.ObjectType("filter.Envelope")),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(MaxSize),
		cel.ParserRecursionLimit(50),
	)
	if err != nil {
		return nil, err
	}
	// cel-go 0.33 looks for similar names at the first unknown one and keeps the list without
	// a lock, which races with other compilations: the list is made before there are any.
	_, _ = env.Compile("unknown")
	return env, nil
})

func compile(text string) (*compiled, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("preparing filters: %w", err)
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, firstIssue(text, issues.Errors())
	}
	if err := checkForm(text, parsed.NativeRep()); err != nil {
		return nil, err
	}
	ast, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, firstIssue(text, issues.Errors())
	}
	if output := ast.OutputType(); !output.IsExactType(cel.BoolType) && !output.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("must be true or false, such as event.data.total > 100; this is %s", output)
	}
	program, err := env.Program(ast, cel.CustomDecoratorV2(guard), cel.OptimizeRegex(patterns...), cel.EvalOptions(cel.OptOptimize),
		cel.CostLimit(MaxCost), cel.CostTracking(estimator{}), cel.InterruptCheckFrequency(interruptEvery))
	if err != nil { // such as a constant that is no regular expression
		return nil, errors.New(firstLine(err.Error()))
	}
	return &compiled{program: program, ast: ast}, nil
}

// firstIssue returns the first of a text's errors, with its place.
func firstIssue(text string, issues []*cel.Error) error {
	issue := issues[0]
	for _, other := range issues[1:] {
		if isBefore(other.Location, issue.Location) {
			issue = other
		}
	}
	message := firstLine(issue.Message)
	if issue.Location == nil || issue.Location.Line() < 1 {
		return errors.New(message)
	}
	return fmt.Errorf("%s: %s", place(text, issue.Location), message)
}

func isBefore(a, b common.Location) bool {
	if a == nil || b == nil {
		return false
	}
	return a.Line() < b.Line() || a.Line() == b.Line() && a.Column() < b.Column()
}

// place returns a location as people count: from 1, in characters.
func place(text string, location common.Location) string {
	column := max(0, location.Column()) + 1 // CEL has -1 for an empty text
	if strings.Contains(text, "\n") {
		return fmt.Sprintf("line %d, column %d", location.Line(), column)
	}
	return fmt.Sprintf("column %d", column)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Result is what a filter says about an event.
type Result struct {
	Matches bool
	// Err is why the filter could not be evaluated for this event, nil if it could: then
	// Matches is false. Its text has nothing of the event's data.
	Err  error
	Cost uint64 // in units of CEL; at least 1
}

// ErrInterrupted is the error of an evaluation whose context ended.
var ErrInterrupted = errors.New("evaluating a filter was interrupted")

// Evaluate reports whether an event matches. The error is [ErrInterrupted] alone: it says
// nothing about the event. What is wrong with the event or the filter is in the result.
func (f *Filter) Evaluate(ctx context.Context, event *Event) (Result, error) {
	c, err := f.compile()
	if err != nil {
		return Result{Err: fmt.Errorf("the filter does not compile: %w", err), Cost: 1}, nil
	}
	envelope, err := event.envelope()
	if err != nil {
		return Result{Err: err, Cost: 1}, nil
	}
	value, details, err := c.program.ContextEval(ctx, map[string]any{"event": envelope})
	result := Result{Cost: MaxCost}
	if details != nil && details.ActualCost() != nil {
		result.Cost = max(1, *details.ActualCost())
	}
	if f.lastCost.Load() != result.Cost {
		f.lastCost.Store(result.Cost)
	}
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ErrInterrupted
		}
		result.Err = f.describe(c, err)
		return result, nil
	}
	matches, isBool := value.(types.Bool)
	if !isBool {
		result.Err = fmt.Errorf("the filter is %s for this event, neither true nor false", value.Type().TypeName())
		return result, nil
	}
	result.Matches = bool(matches)
	return result, nil
}

// describe returns an error of an evaluation with its place in the expression, and without
// what it may quote of the event's data.
func (f *Filter) describe(c *compiled, err error) error {
	message := "a function could not take its value"
	text := firstLine(err.Error())
	switch {
	case strings.Contains(text, "cost limit exceeded"):
		return fmt.Errorf("the filter costs too much for this event: more than %d steps", MaxCost)
	case strings.HasPrefix(text, "no such key: "), strings.HasPrefix(text, "no such attribute"), strings.HasPrefix(text, "no such field"):
		message = "the event has no such member"
		if name := strings.TrimPrefix(text, "no such key: "); name != text && len(name) > 0 && strings.Contains(f.text, name) {
			message += ": " + name
		}
	case strings.HasPrefix(text, "no such overload"), strings.HasPrefix(text, "unsupported"):
		message = "a value has the wrong type for this"
	case strings.HasPrefix(text, "index out of bounds"):
		message = "the list has no such element"
	case strings.HasPrefix(text, "divi"), strings.HasPrefix(text, "modul"):
		message = "division by zero"
	case strings.Contains(text, "overflow"):
		message = "a number is too large"
	}
	var failure *types.Err
	if errors.As(err, &failure) && failure.NodeID() > 0 {
		if location := c.ast.NativeRep().SourceInfo().GetStartLocation(failure.NodeID()); location.Line() > 0 {
			return fmt.Errorf("%s: %s", place(f.text, location), message)
		}
	}
	return errors.New(message)
}
