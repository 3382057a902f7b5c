package strictjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/maphash"
	"slices"
)

const (
	inlineKeys = 32 // keys of open objects that are stored without an allocation
	fewKeys    = 16 // up to this number every key is compared with every other
)

// keySpan is a key of an open object: its offsets between the quotes, and a hash of its
// decoded text.
type keySpan struct {
	hash       uint64
	start, end int
}

// openKeys is a stack of the keys of all open objects. The first few are stored in the
// scanner itself, so that ordinary bodies need no allocation.
type openKeys struct {
	n      int
	inline [inlineKeys]keySpan
	heap   []keySpan // holds all of them once they do not fit inline
}

func (k *openKeys) push(key keySpan) {
	switch {
	case k.heap != nil:
		k.heap = append(k.heap[:k.n], key)
	case k.n < inlineKeys:
		k.inline[k.n] = key
	default:
		k.heap = make([]keySpan, inlineKeys, 8*inlineKeys)
		copy(k.heap, k.inline[:])
		k.heap = append(k.heap, key)
	}
	k.n++
}

// since returns the keys from index first on.
func (k *openKeys) since(first int) []keySpan {
	if k.heap != nil {
		return k.heap[first:k.n]
	}
	return k.inline[first:k.n]
}

// keySeed is random, so that clients cannot prepare keys that collide.
var keySeed = maphash.MakeSeed()

// pushKey records a key of the innermost open object.
func (s *scanner) pushKey(start, end int) {
	hash := maphash.Bytes(keySeed, decodeKey(s.b[start:end]))
	s.keys.push(keySpan{hash, start, end})
}

// popDistinctKeys removes the keys of an object, those from index first on, and reports
// whether they are all different.
func (s *scanner) popDistinctKeys(first int) bool {
	keys := s.keys.since(first)
	s.keys.n = first
	if len(keys) <= fewKeys {
		for i := 1; i < len(keys); i++ {
			if !s.differs(keys[i], keys[:i]) {
				return false
			}
		}
		return true
	}
	slices.SortFunc(keys, func(a, b keySpan) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.start, b.start))
	})
	run := 0 // index of the first key with the same hash as keys[i]
	for i := 1; i < len(keys); i++ {
		if keys[i].hash != keys[run].hash {
			run = i
		} else if !s.differs(keys[i], keys[run:i]) {
			return false
		}
	}
	return true
}

// differs reports whether a key, decoded, differs from all earlier ones.
func (s *scanner) differs(key keySpan, earlier []keySpan) bool {
	for _, other := range earlier {
		if key.hash == other.hash && bytes.Equal(s.decoded(key), s.decoded(other)) {
			return s.fail(violationDuplicate, key.start-1)
		}
	}
	return true
}

func (s *scanner) decoded(key keySpan) []byte { return decodeKey(s.b[key.start:key.end]) }

// decodeKey decodes the escapes of a checked key, given without its quotes. A key that
// has none is returned as it is.
func decodeKey(raw []byte) []byte {
	if !bytes.ContainsRune(raw, '\\') {
		return raw
	}
	quoted := append(append([]byte{'"'}, raw...), '"')
	var decoded string
	if err := json.Unmarshal(quoted, &decoded); err != nil { // cannot happen: the scanner read it
		return raw
	}
	return []byte(decoded)
}
