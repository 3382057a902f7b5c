package table

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

// windows1252 are the characters of the bytes 0x80 to 0x9F in Windows-1252; all others are
// those of Latin-1.
var windows1252 = [32]rune{
	'€', unicode.ReplacementChar, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', unicode.ReplacementChar, 'Ž', unicode.ReplacementChar,
	unicode.ReplacementChar, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', unicode.ReplacementChar, 'ž', 'Ÿ',
}

// Byte order marks.
const (
	bomUTF8    = "\xef\xbb\xbf"
	bomUTF16LE = "\xff\xfe"
	bomUTF16BE = "\xfe\xff"
)

// sampleSize is how many bytes of a file are examined for its character set.
const sampleSize = 512

// Text returns the file's text as UTF-8 without a byte order mark. The file may be UTF-8, where
// U+FFFD stands for a byte that is none, UTF-16 with or without a byte order mark, or
// Windows-1252 (Latin-1). A carriage return alone,
// which ends the lines of Excel's "CSV (Macintosh)", becomes a line feed. Text seeks in the file,
// may read it twice, and holds none of it in memory.
func Text(file io.ReadSeeker) (io.Reader, error) {
	text, err := decode(file)
	if err != nil {
		return nil, err
	}
	return &lineEndReader{bufio.NewReader(text)}, nil
}

// lineEndReader replaces each carriage return that no line feed follows by a line feed.
type lineEndReader struct{ in *bufio.Reader }

// Read implements io.Reader.
func (l *lineEndReader) Read(p []byte) (n int, err error) {
	n, err = l.in.Read(p)
	for i, c := range p[:n] {
		if c != '\r' {
			continue
		}
		following := p[i+1 : n]
		if len(following) == 0 {
			following, _ = l.in.Peek(1) // what keeps it from being read is the next call's error
		}
		if len(following) == 0 || following[0] != '\n' {
			p[i] = '\n'
		}
	}
	return n, err
}

// decode returns the file's text as UTF-8 without a byte order mark.
func decode(file io.ReadSeeker) (io.Reader, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	head := make([]byte, sampleSize)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte(bomUTF16LE)):
		return newUTF16Reader(file, len(bomUTF16LE), binary.LittleEndian)
	case bytes.HasPrefix(head, []byte(bomUTF16BE)):
		return newUTF16Reader(file, len(bomUTF16BE), binary.BigEndian)
	}
	if order := guessUTF16(head); order != nil {
		return newUTF16Reader(file, 0, order)
	}
	if bytes.HasPrefix(head, []byte(bomUTF8)) {
		return newUTF8Reader(file, len(bomUTF8))
	}
	return decodeBytes(file)
}

// decodeBytes returns the text of a file without a byte order mark, in UTF-8 or Windows-1252.
// In Windows-1252 letters with accents are hardly ever UTF-8 by accident: a file that has more
// of UTF-8 than of what is none has some broken characters.
func decodeBytes(file io.ReadSeeker) (io.Reader, error) {
	in, err := seek(file, 0)
	if err != nil {
		return nil, err
	}
	wide, invalid := 0, 0 // characters of several bytes, and bytes that are none
	for {
		r, size, err := in.ReadRune()
		switch {
		case errors.Is(err, io.EOF) && invalid == 0:
			return seek(file, 0)
		case errors.Is(err, io.EOF) && wide > invalid:
			return newUTF8Reader(file, 0)
		case errors.Is(err, io.EOF):
			return newWindows1252Reader(file, 0)
		case err != nil:
			return nil, fmt.Errorf("reading the file: %w", err)
		case r == utf8.RuneError && size == 1:
			invalid++
		case size > 1:
			wide++
		}
	}
}

// newUTF8Reader returns a text in UTF-8 with the replacement character for each byte that is
// none.
func newUTF8Reader(file io.ReadSeeker, start int) (io.Reader, error) {
	in, err := seek(file, start)
	if err != nil {
		return nil, err
	}
	return &runeReader{next: func() (rune, error) {
		r, _, err := in.ReadRune()
		return r, err
	}}, nil
}

// guessUTF16 returns the byte order of a text in UTF-16 without a byte order mark, nil if it
// is something else: more than half of the units are Latin-1, and no byte on the other side
// is zero.
func guessUTF16(sample []byte) binary.ByteOrder {
	var zeros [2]int // at even and odd places
	for i, b := range sample {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch units := len(sample) / 2; {
	case zeros[0] == 0 && zeros[1]*2 > units:
		return binary.LittleEndian
	case zeros[1] == 0 && zeros[0]*2 > units:
		return binary.BigEndian
	}
	return nil
}

func newWindows1252Reader(file io.ReadSeeker, start int) (io.Reader, error) {
	in, err := seek(file, start)
	if err != nil {
		return nil, err
	}
	return &runeReader{next: func() (rune, error) {
		b, err := in.ReadByte()
		if b >= 0x80 && b < 0x80+byte(len(windows1252)) {
			return windows1252[b-0x80], err
		}
		return rune(b), err
	}}, nil
}

func newUTF16Reader(file io.ReadSeeker, start int, order binary.ByteOrder) (io.Reader, error) {
	in, err := seek(file, start)
	if err != nil {
		return nil, err
	}
	readUnit := func() (rune, error) {
		var pair [2]byte
		switch _, err := io.ReadFull(in, pair[:]); {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return 0, io.EOF // a single last byte is ignored
		case err != nil:
			return 0, err
		}
		return rune(order.Uint16(pair[:])), nil
	}
	return &runeReader{next: func() (rune, error) {
		first, err := readUnit()
		if err != nil || !utf16.IsSurrogate(first) {
			return first, err
		}
		second, err := readUnit()
		if errors.Is(err, io.EOF) {
			return unicode.ReplacementChar, nil
		}
		if err != nil {
			return 0, err
		}
		return utf16.DecodeRune(first, second), nil
	}}, nil
}

// runeReader reads characters as UTF-8.
type runeReader struct {
	next func() (rune, error)
	rest []byte // of a character that did not fit
}

// Read implements io.Reader.
func (c *runeReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(c.rest) > 0 {
			copied := copy(p[n:], c.rest)
			c.rest, n = c.rest[copied:], n+copied
			continue
		}
		r, err := c.next()
		if err != nil {
			return n, err
		}
		c.rest = utf8.AppendRune(c.rest[:0], r)
	}
	return n, nil
}

// seek returns a reader of the file from an offset on.
func seek(file io.ReadSeeker, offset int) (*bufio.Reader, error) {
	if _, err := file.Seek(int64(offset), io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	return bufio.NewReader(file), nil
}
