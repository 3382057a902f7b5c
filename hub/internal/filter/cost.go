package filter

import (
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// estimator counts comparisons of objects and lists by all that is in them. CEL counts an
// object as one step, whatever its size.
type estimator struct{}

// CallCost implements [cost.ActualCostEstimator].
func (estimator) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if (function != "_==_" && function != "_!=_" && function != "@in") || len(args) != 2 {
		return nil
	}
	var cost uint64
	for _, arg := range args {
		if !isAggregate(arg) {
			continue
		}
		cost += countNodes(arg, MaxCost+1)
	}
	if cost == 0 {
		return nil
	}
	return &cost
}

func isAggregate(value ref.Val) bool {
	switch value.(type) {
	case traits.Lister, traits.Mapper:
		return true
	}
	return false
}

// countNodes returns how many values are in a value, itself included, up to a limit.
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
		return count
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
