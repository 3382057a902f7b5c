package filter

import (
	"fmt"
	"regexp"

	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// Bounds of regular expressions.
const (
	// maxPattern is how many instructions one may compile to: a text of 60 characters can
	// compile to a hundred thousand.
	maxPattern = 1000
	// patternStep is how many instructions times bytes of the text are one step.
	patternStep = 40
)

// guardedCall is a call of two arguments that is not carried out where it costs too much. CEL
// counts a call when it is done, and cannot interrupt it: a text that is doubled 24 times
// takes all memory before that, a list that holds itself twice at 40 levels is compared
// for ever.
type guardedCall struct {
	interpreter.InterpretableCall
	run func(a, b ref.Val) ref.Val
}

// guardedCalls are the functions that can take long or much memory for one call, and what
// they do. They are CEL's own.
var guardedCalls = map[string]func(a, b ref.Val) ref.Val{
	"_==_": types.Equal,
	"_!=_": func(a, b ref.Val) ref.Val { return types.Bool(types.Equal(a, b) != types.True) },
	"_+_": func(a, b ref.Val) ref.Val {
		if adder, ok := a.(traits.Adder); ok {
			return adder.Add(b)
		}
		return types.NoSuchOverloadErr()
	},
	overloads.Matches: match,
	"@in": func(a, b ref.Val) ref.Val {
		if container, ok := b.(traits.Container); ok {
			return container.Contains(a)
		}
		return types.NoSuchOverloadErr()
	},
}

// guard replaces a call by a guarded one, where there is one.
func guard(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, isCall := node.(interpreter.InterpretableCall)
	if !isCall {
		return node, nil
	}
	run := guardedCalls[call.Function()]
	if run == nil || len(call.Args()) != 2 {
		return node, nil
	}
	return &guardedCall{call, run}, nil
}

// Exec implements [interpreter.InterpretableV2].
func (g *guardedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := g.Args()
	a := args[0].Exec(frame)
	if types.IsUnknownOrError(a) {
		return a
	}
	b := args[1].Exec(frame)
	if types.IsUnknownOrError(b) {
		return b
	}
	var result ref.Val
	if (isLarge(a) || isLarge(b)) && callCost(g.Function(), []ref.Val{a, b}) > MaxCost {
		result = newTooExpensive() // the tracker, which counts the same, ends the evaluation
	} else {
		result = types.LabelErrNode(g.ID(), g.run(a, b))
	}
	if costs := frame.CostTracker(); costs != nil {
		costs.EvalBinary(frame, g.ID(), g, a, b, result)
	}
	return result
}

// isLarge reports whether a value may be large enough for a call with it to cost too much.
func isLarge(value ref.Val) bool {
	switch value := value.(type) {
	case types.String:
		return len(value) > MaxCost
	case types.Bytes:
		return len(value) > MaxCost
	}
	return isAggregate(value)
}

// Eval implements [interpreter.Interpretable].
func (g *guardedCall) Eval(activation interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(activation, g.Exec)
}

// newTooExpensive returns the result of a call that was not carried out.
func newTooExpensive() ref.Val { return types.NewErr("cost limit exceeded") }

// patterns compile regular expressions that are constants when the filter is compiled, and
// bound what matching with one costs.
var patterns = []*interpreter.RegexOptimization{
	{Function: overloads.Matches, OverloadID: overloads.Matches, RegexIndex: 1, Factory: newMatcher},
	{Function: overloads.Matches, OverloadID: overloads.MatchesString, RegexIndex: 1, Factory: newMatcher},
}

// newMatcher returns a call of matches with a constant regular expression.
func newMatcher(call interpreter.InterpretableCall, text string) (interpreter.InterpretableCall, error) {
	pattern, err := compilePattern(text)
	if err != nil {
		return nil, err
	}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		return pattern.match(args[0])
	}), nil
}

// match is the function matches with a regular expression that only the event has.
func match(value, pattern ref.Val) ref.Val {
	text, isText := pattern.(types.String)
	switch {
	case !isText:
		return types.NoSuchOverloadErr()
	case len(text) > MaxSize:
		return newTooExpensive()
	}
	compiled, err := compilePattern(string(text))
	if err != nil {
		return types.WrapErr(err)
	}
	return compiled.match(value)
}

// pattern is a compiled regular expression.
type pattern struct {
	compiled     *regexp.Regexp
	instructions int
}

func compilePattern(text string) (pattern, error) {
	instructions, err := types.RegexProgramSize(text)
	if err != nil {
		return pattern{}, err
	}
	if instructions > maxPattern {
		return pattern{}, fmt.Errorf("the regular expression is too large: it compiles to more than %d instructions, as long repetitions do", maxPattern)
	}
	compiled, err := regexp.Compile(text)
	return pattern{compiled, instructions}, err
}

// match reports whether a value has something that matches.
func (p pattern) match(value ref.Val) ref.Val {
	text, isText := value.(types.String)
	switch {
	case !isText:
		return types.NoSuchOverloadErr()
	case len(text)*p.instructions > MaxCost*patternStep:
		return newTooExpensive()
	}
	return types.Bool(p.compiled.MatchString(string(text)))
}
