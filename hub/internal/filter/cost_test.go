package filter

import (
	"testing"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/stretchr/testify/require"
)

func TestCallCost(t *testing.T) {
	t.Parallel()
	list := func(n int) ref.Val { return types.DefaultTypeAdapter.NativeToValue(make([]int, n)) }
	nested := types.DefaultTypeAdapter.NativeToValue(map[string]any{"a": []int{1, 2}, "b": map[string]any{"c": 1}})
	number := types.Int(1)
	for name, test := range map[string]struct {
		function string
		args     []ref.Val
		want     int // 0: CEL's own
	}{
		"equal lists":         {"_==_", []ref.Val{list(3), list(2)}, 4 + 3},
		"unequal lists":       {"_!=_", []ref.Val{list(3), number}, 4},
		"an element":          {"@in", []ref.Val{number, list(5)}, 6},
		"nested":              {"_==_", []ref.Val{number, nested}, 1 + 3 + 2},
		"no lists":            {"_==_", []ref.Val{number, number}, 0},
		"other functions":     {"_+_", []ref.Val{list(3), list(2)}, 0},
		"other functions too": {"_[_]", []ref.Val{list(3), number}, 0},
		"one argument":        {"_==_", []ref.Val{list(3)}, 0},
		"as long as counted":  {"_==_", []ref.Val{list(MaxCost), number}, MaxCost + 1},
		"longer than counted": {"_==_", []ref.Val{list(MaxCost + 5), number}, MaxCost + 1},
	} {
		cost := estimator{}.CallCost(test.function, "", test.args, nil)
		if test.want == 0 {
			require.Nil(t, cost, name)
			continue
		}
		require.NotNil(t, cost, name)
		require.EqualValues(t, test.want, *cost, name)
	}
	lists := types.DefaultTypeAdapter.NativeToValue([][]int{make([]int, 100), make([]int, 100)})
	require.EqualValues(t, 203, countNodes(lists, 1000))
	for _, limit := range []uint64{1, 2, 50, 102, 103, 150} {
		require.Equal(t, limit, countNodes(lists, limit))
	}
}

func TestIsBefore(t *testing.T) {
	t.Parallel()
	at := common.NewLocation
	for _, test := range []struct {
		a, b common.Location
		want bool
	}{
		{at(1, 2), at(1, 3), true},
		{at(1, 3), at(1, 3), false},
		{at(1, 4), at(1, 3), false},
		{at(1, 9), at(2, 3), true},
		{at(2, 3), at(1, 9), false},
		{at(2, 1), at(1, 9), false},
		{nil, at(1, 3), false},
		{at(1, 3), nil, false},
		{nil, nil, false},
	} {
		require.Equal(t, test.want, isBefore(test.a, test.b), "%v %v", test.a, test.b)
	}
}
