package imageupload

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// What is wrong with a container.
var (
	errMore = errors.New("something follows the picture") // a file that is two things at once
	errCut  = errors.New("the file ends before the picture does")
	errForm = errors.New("the file is not put together as it must be")
)

const signaturePNG = "\x89PNG\r\n\x1a\n"

// wholePNG walks the chunks (RFC 2083): length, name, data and checksum, IEND last.
func wholePNG(raw []byte) (side int, err error) {
	rest := raw[len(signaturePNG):]
	const around = 12 // bytes of a chunk besides its data
	for {
		if len(rest) < around {
			return 0, errCut
		}
		length := int64(binary.BigEndian.Uint32(rest))
		if length > int64(len(rest)-around) {
			return 0, errCut
		}
		name := string(rest[4:8])
		rest = rest[around+length:]
		if name == "IEND" {
			return 0, nothingAfter(rest)
		}
	}
}

func nothingAfter(rest []byte) error {
	if len(rest) > 0 {
		return errMore
	}
	return nil
}

// Markers of JPEG (ITU-T T.81, table B.1), without their 0xFF.
const (
	markerStart = 0xD8
	markerEnd   = 0xD9
	markerScan  = 0xDA
	markerAPP1  = 0xE1
)

// wholeJPEG walks the segments and scans, to the end marker.
func wholeJPEG(raw []byte) (side int, err error) {
	end := -1
	err = segments(raw, func(marker byte, _ []byte, after int) bool {
		if marker == markerEnd {
			end = after
		}
		return end < 0
	})
	if err != nil {
		return 0, err
	}
	// Cameras pad with zeros.
	return 0, nothingAfter(bytes.TrimRight(raw[end:], "\x00"))
}

// segments calls visit for every segment of a JPEG, with its data and where the file
// goes on after it, until that says false. Entropy-coded data is skipped.
func segments(raw []byte, visit func(marker byte, data []byte, after int) bool) error {
	at := 2
	for {
		for at < len(raw) && raw[at] != 0xFF { // between segments there is nothing, in scans there is data
			at++
		}
		for at < len(raw) && raw[at] == 0xFF {
			at++
		}
		if at >= len(raw) {
			return errCut
		}
		marker := raw[at]
		at++
		switch {
		case marker == 0 || marker >= 0xD0 && marker <= 0xD7 || marker == 0x01: // stuffing and restarts
			continue
		case marker == markerEnd:
			visit(marker, nil, at)
			return nil
		case marker == markerStart:
			return errForm
		}
		if at+2 > len(raw) {
			return errCut
		}
		length := int(binary.BigEndian.Uint16(raw[at:]))
		if length < 2 {
			return errForm
		}
		if at+length > len(raw) {
			return errCut
		}
		data := raw[at+2 : at+length]
		at += length
		if !visit(marker, data, at) {
			return nil
		}
	}
}

// wholeWebP compares the size that RIFF names with the file's, and looks at the size
// of every frame: an extended header may claim less than the frame has.
func wholeWebP(raw []byte) (side int, err error) {
	const header, around = 12, 8 // bytes
	size := int64(binary.LittleEndian.Uint32(raw[4:])) + around
	size += size & 1
	switch {
	case int64(len(raw)) > size:
		return 0, errMore
	case int64(len(raw)) < size:
		return 0, errCut
	}
	for rest := raw[header:]; len(rest) > 0; {
		if len(rest) < around {
			return 0, errForm
		}
		length := int64(binary.LittleEndian.Uint32(rest[4:]))
		if length > int64(len(rest)-around) {
			return 0, errCut
		}
		side = max(side, frameSide(string(rest[:4]), rest[around:around+length]))
		rest = rest[min(around+length+length&1, int64(len(rest))):]
	}
	return side, nil
}

// frameSide is the longer side of a frame (RFC 6386, 9.1; RFC 9649, 3.4), 0 for
// other chunks.
func frameSide(name string, data []byte) int {
	const mask = 1<<14 - 1
	switch {
	case name == "VP8 " && len(data) >= 10:
		return int(max(binary.LittleEndian.Uint16(data[6:])&mask, binary.LittleEndian.Uint16(data[8:])&mask))
	case name == "VP8L" && len(data) >= 5:
		bits := binary.LittleEndian.Uint32(data[1:])
		return int(max(bits&mask, bits>>14&mask)) + 1
	}
	return 0
}

// orientation is how EXIF says a JPEG was held, 1 (upright) where it says nothing.
func orientation(raw []byte) int {
	turned := 1
	if !bytes.HasPrefix(raw, []byte{0xFF, markerStart}) {
		return turned
	}
	_ = segments(raw, func(marker byte, data []byte, _ int) bool { // what it found out before an error counts
		if tiff, is := bytes.CutPrefix(data, []byte("Exif\x00\x00")); marker == markerAPP1 && is {
			turned = tiffOrientation(tiff)
			return false
		}
		return marker != markerScan
	})
	return turned
}

// tiffOrientation reads tag 0x0112 of the first directory (TIFF 6.0, section 8).
func tiffOrientation(tiff []byte) int {
	const header, entry, tag = 8, 12, 0x0112
	if len(tiff) < header {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at < header || at+2 > int64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entry {
			return 1
		}
		if order.Uint16(entries) == tag {
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[entry:]
	}
	return 1
}
