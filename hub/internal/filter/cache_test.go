package filter

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCache(t *testing.T) {
	t.Parallel()
	var cache Cache
	require.Nil(t, cache.Filter(""))
	first := cache.Filter("true")
	require.Equal(t, "true", first.Text())
	require.Same(t, first, cache.Filter("true"))
	require.NotSame(t, first, cache.Filter("false"))
	for i := 2; i < maxCached; i++ {
		cache.Filter(strconv.Itoa(i))
	}
	require.Same(t, first, cache.Filter("true"), "the cache is full")
	cache.Filter("1 == 1")
	require.NotSame(t, first, cache.Filter("true"), "one more has emptied it")
}
