package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// Errors of containers.
var (
	errTrailingData = errors.New("something follows the picture") // a file that is two things at once
	errTruncated    = errors.New("the file ends before the picture does")
	errMalformed    = errors.New("the file is not put together as it must be")
)

const pngSignature = "\x89PNG\r\n\x1a\n"

// checkPNG walks the chunks (RFC 2083): length, name, data and checksum, IEND last.
func checkPNG(raw []byte) (side int, err error) {
	rest := raw[len(pngSignature):]
	const overhead = 12 // bytes of a chunk besides its data
	for {
		if len(rest) < overhead {
			return 0, errTruncated
		}
		length := int64(binary.BigEndian.Uint32(rest))
		if length > int64(len(rest)-overhead) {
			return 0, errTruncated
		}
		name := string(rest[4:8])
		rest = rest[overhead+length:]
		if name == "IEND" {
			return 0, checkNoTrailingData(rest)
		}
	}
}

func checkNoTrailingData(rest []byte) error {
	if len(rest) > 0 {
		return errTrailingData
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

// checkJPEG walks the segments and scans up to the end marker.
func checkJPEG(raw []byte) (side int, err error) {
	end := -1
	err = eachSegment(raw, func(marker byte, _ []byte, after int) bool {
		if marker == markerEnd {
			end = after
		}
		return end < 0
	})
	if err != nil {
		return 0, err
	}
	// Cameras pad with zeros.
	return 0, checkNoTrailingData(bytes.TrimRight(raw[end:], "\x00"))
}

// eachSegment calls visit for each segment of a JPEG, with its data and the offset after
// it, until visit returns false. It skips entropy-coded data.
func eachSegment(raw []byte, visit func(marker byte, data []byte, after int) bool) error {
	at := 2
	for {
		for at < len(raw) && raw[at] != 0xFF { // between segments there is nothing, in scans there is data
			at++
		}
		for at < len(raw) && raw[at] == 0xFF {
			at++
		}
		if at >= len(raw) {
			return errTruncated
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
			return errMalformed
		}
		if at+2 > len(raw) {
			return errTruncated
		}
		length := int(binary.BigEndian.Uint16(raw[at:]))
		if length < 2 {
			return errMalformed
		}
		if at+length > len(raw) {
			return errTruncated
		}
		data := raw[at+2 : at+length]
		at += length
		if !visit(marker, data, at) {
			return nil
		}
	}
}

// checkWebP compares the RIFF size with the file's and reads the size of each frame: an
// extended header may claim less than a frame has.
func checkWebP(raw []byte) (side int, err error) {
	const header, overhead = 12, 8 // bytes
	size := int64(binary.LittleEndian.Uint32(raw[4:])) + overhead
	size += size & 1
	switch {
	case int64(len(raw)) > size:
		return 0, errTrailingData
	case int64(len(raw)) < size:
		return 0, errTruncated
	}
	for rest := raw[header:]; len(rest) > 0; {
		if len(rest) < overhead {
			return 0, errMalformed
		}
		length := int64(binary.LittleEndian.Uint32(rest[4:]))
		if length > int64(len(rest)-overhead) {
			return 0, errTruncated
		}
		side = max(side, frameSide(string(rest[:4]), rest[overhead:overhead+length]))
		rest = rest[min(overhead+length+length&1, int64(len(rest))):]
	}
	return side, nil
}

// frameSide returns the longer side of a frame (RFC 6386, 9.1; RFC 9649, 3.4), and 0 for
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

// orientation returns a JPEG's EXIF orientation, 1 (upright) without one.
func orientation(raw []byte) int {
	orientation := 1
	if !bytes.HasPrefix(raw, []byte{0xFF, markerStart}) {
		return orientation
	}
	_ = eachSegment(raw, func(marker byte, data []byte, _ int) bool { // what it found out before an error counts
		if tiff, isExif := bytes.CutPrefix(data, []byte("Exif\x00\x00")); marker == markerAPP1 && isExif {
			orientation = tiffOrientation(tiff)
			return false
		}
		return marker != markerScan
	})
	return orientation
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
