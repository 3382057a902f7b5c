// Package records defines what the generator and the receiver record, and its file format.
package records

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// Sent records one POST of the generator: 40 bytes, little endian, in its output file.
type Sent struct {
	ID         uint64 // the 64 bits after evt_; 0 when the status was not 2xx
	Number     uint64 // the event's number, also inside its data
	SentAt     int64  // Unix ns: sent (closed loop) or due (fixed rate)
	AnsweredAt int64  // Unix ns: response read
	Status     uint16 // HTTP status; 0 without a response
	Deliveries uint16 // promised by the response
	DataCRC    uint32 // CRC-32 of the data object
}

// Accepted reports whether the service accepted the event (2xx).
func (s Sent) Accepted() bool { return s.Status >= 200 && s.Status < 300 }

// Arrival records one request at the receiver: 48 bytes, little endian.
type Arrival struct {
	ID        uint64 // the 64 bits after evt_ in the webhook-id header
	Number    uint64 // from the data object
	SentAt    int64  // Unix ns, from the data object
	ArrivedAt int64  // Unix ns: request read
	Endpoint  uint32 // N of /hook/N
	Status    uint16 // status of the response
	Signature uint16 // SignatureUnchecked, SignatureValid or SignatureInvalid
	BodyCRC   uint32 // CRC-32 of the whole body
	DataCRC   uint32 // CRC-32 of the data object
}

// Delivered reports whether the receiver answered 2xx.
func (a Arrival) Delivered() bool { return a.Status >= 200 && a.Status < 300 }

// Values of [Arrival.Signature].
const (
	SignatureUnchecked = iota
	SignatureValid
	SignatureInvalid
)

// Write writes records in their fixed-size form.
func Write[T Sent | Arrival](w io.Writer, records []T) error {
	if err := binary.Write(w, binary.LittleEndian, records); err != nil {
		return fmt.Errorf("writing records: %w", err)
	}
	return nil
}

// Read reads all records of raw; a length that is not a whole number of
// records is an error.
func Read[T Sent | Arrival](raw []byte) ([]T, error) {
	var record T
	size := binary.Size(record)
	if len(raw)%size != 0 {
		return nil, fmt.Errorf("reading records: %d bytes are not a multiple of %d", len(raw), size)
	}
	records := make([]T, len(raw)/size)
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, records); err != nil {
		return nil, fmt.Errorf("reading records: %w", err)
	}
	return records, nil
}

// Save writes records to a new file.
func Save[T Sent | Arrival](path string, records []T) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("creating record file: %w", err)
	}
	buffered := bufio.NewWriterSize(file, 1<<16)
	if err := Write(buffered, records); err != nil {
		_ = file.Close() // the write error is the one to report
		return err
	}
	if err := buffered.Flush(); err != nil {
		_ = file.Close()
		return fmt.Errorf("writing records: %w", err)
	}
	return file.Close()
}

// Load reads a file written by [Save].
func Load[T Sent | Arrival](path string) ([]T, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading record file: %w", err)
	}
	return Read[T](raw)
}

// DeliveryKey identifies a delivery: an event and an endpoint.
type DeliveryKey struct {
	EventID  uint64
	Endpoint uint32
}

// Key returns the delivery that the request belongs to.
func (a Arrival) Key() DeliveryKey { return DeliveryKey{a.ID, a.Endpoint} }
