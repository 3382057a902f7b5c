package filter

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// What a step is worth in bytes.
const (
	copyStep = 10  // of texts that are joined or ordered, as CEL counts them where it knows the types
	scanStep = 128 // of texts that are only read
)

// estimator counts what CEL counts as one step, whatever its size: comparisons of objects and
// lists, and texts whose type is not known before the event is, as with event.data.
type estimator struct{}

// CallCost implements [cost.ActualCostEstimator].
func (estimator) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	cost := callCost(function, args)
	if cost == 0 {
		return nil
	}
	return &cost
}

// callCost returns the cost of a call, at most about [MaxCost] for one that compares lists or
// objects; 0 leaves it to CEL.
func callCost(function string, args []ref.Val) uint64 {
	switch function {
	case "_==_", "_!=_", "@in":
		return comparisonCost(args)
	case "_+_":
		if texts := textBytes(args); texts > 0 {
			return 1 + texts/copyStep
		}
	case "_<_", "_<=_", "_>_", "_>=_":
		if len(args) == 2 {
			return min(textBytes(args[:1]), textBytes(args[1:])) / copyStep
		}
	case "contains", "startsWith", "endsWith", "matches": // CEL's own, by the length of both
	default:
		if texts := textBytes(args); texts >= scanStep {
			return 1 + texts/scanStep
		}
	}
	return 0
}

// comparisonCost returns how much there is in the lists and objects that are compared.
func comparisonCost(args []ref.Val) (cost uint64) {
	if len(args) != 2 {
		return 0
	}
	for _, arg := range args {
		if isAggregate(arg) {
			cost += countNodes(arg, MaxCost+1)
		}
	}
	return cost
}

// textBytes returns the length of all texts among arguments.
func textBytes(args []ref.Val) (n uint64) {
	for _, arg := range args {
		switch text := arg.(type) {
		case types.String:
			n += uint64(len(text))
		case types.Bytes:
			n += uint64(len(text))
		}
	}
	return n
}

func isAggregate(value ref.Val) bool {
	switch value.(type) {
	case traits.Lister, traits.Mapper:
		return true
	}
	return false
}

// countNodes returns how many values are in a value, itself included, up to a limit. A long
// text counts as several.
func countNodes(value ref.Val, limit uint64) uint64 {
	var iterator traits.Iterator
	mapper, isMap := value.(traits.Mapper)
	if isMap {
		iterator = mapper.Iterator()
	} else if lister, isList := value.(traits.Lister); isList {
		iterator = lister.Iterator()
	}
	count := uint64(1)
	if iterator == nil {
		return min(limit, count+textBytes([]ref.Val{value})/scanStep)
	}
	for count < limit && iterator.HasNext() == trueValue {
		element := iterator.Next()
		if isMap {
			element = mapper.Get(element)
		}
		count += countNodes(element, limit-count)
	}
	return count
}
