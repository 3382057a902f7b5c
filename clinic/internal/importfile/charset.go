package importfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// windows1252 is what the bytes 0x80 to 0x9F stand for where spreadsheets write one
// byte for each letter; the others are those of Latin-1.
var windows1252 = [32]rune{
	'€', unicode.ReplacementChar, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', unicode.ReplacementChar, 'Ž', unicode.ReplacementChar,
	unicode.ReplacementChar, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', unicode.ReplacementChar, 'ž', 'Ÿ',
}

// Marks at the start of a file.
const (
	markUTF8    = "\xef\xbb\xbf"
	markLittle  = "\xff\xfe"
	markBig     = "\xfe\xff"
	longestMark = len(markUTF8)
)

// Text gives a file as UTF-8 without a mark at its start: it may be UTF-8, UTF-16
// with a mark, or one byte for each letter (Windows-1252, Latin-1). It reads the file
// twice, from its start wherever it stands, and holds none of it.
func Text(file io.ReadSeeker) (io.Reader, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	head := make([]byte, longestMark)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte(markLittle)):
		return wide(file, len(markLittle), binary.LittleEndian)
	case bytes.HasPrefix(head, []byte(markBig)):
		return wide(file, len(markBig), binary.BigEndian)
	}
	from := 0
	if string(head) == markUTF8 {
		from = len(markUTF8)
	}
	in, err := at(file, from)
	if err != nil {
		return nil, err
	}
	for {
		c, size, err := in.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			return at(file, from)
		case err != nil:
			return nil, fmt.Errorf("reading the file: %w", err)
		case c == utf8.RuneError && size == 1:
			if in, err = at(file, from); err != nil {
				return nil, err
			}
			return &converted{next: func() (rune, error) {
				b, err := in.ReadByte()
				if b >= 0x80 && b < 0x80+byte(len(windows1252)) {
					return windows1252[b-0x80], err
				}
				return rune(b), err
			}}, nil
		}
	}
}

func at(file io.ReadSeeker, offset int) (*bufio.Reader, error) {
	if _, err := file.Seek(int64(offset), io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	return bufio.NewReader(file), nil
}

// wide reads UTF-16.
func wide(file io.ReadSeeker, from int, order binary.ByteOrder) (io.Reader, error) {
	in, err := at(file, from)
	if err != nil {
		return nil, err
	}
	unit := func() (rune, error) {
		var pair [2]byte
		if _, err := io.ReadFull(in, pair[:]); err != nil {
			return 0, io.EOF // half a letter at the end is none
		}
		return rune(order.Uint16(pair[:])), nil
	}
	return &converted{next: func() (rune, error) {
		first, err := unit()
		if err != nil || !utf16.IsSurrogate(first) {
			return first, err
		}
		second, err := unit()
		if err != nil {
			return unicode.ReplacementChar, nil
		}
		return utf16.DecodeRune(first, second), nil
	}}, nil
}

// converted is a text made of letters.
type converted struct {
	next func() (rune, error)
	rest []byte // of a letter that did not fit
}

// Read implements io.Reader.
func (c *converted) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(c.rest) > 0 {
			taken := copy(p[n:], c.rest)
			c.rest, n = c.rest[taken:], n+taken
			continue
		}
		letter, err := c.next()
		if err != nil {
			if n == 0 {
				return 0, err
			}
			return n, nil
		}
		c.rest = utf8.AppendRune(c.rest[:0], letter)
	}
	return n, nil
}
