package imports

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"strconv"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/importfile"
	"integrationhub/messaging/internal/store"
)

// File is a table of contacts that can be read. It is read anew for each use: its rows are
// never all in memory.
type File struct {
	Columns []importfile.Column
	Total   int // rows

	content     io.ReadSeeker
	countryCode string
}

// OpenFile reads a whole table once. countryCode is put before numbers that have at most 11
// digits and no plus; "" leaves them as they are. It returns an [importfile.FormatError] for
// what is no table of contacts.
func OpenFile(content io.ReadSeeker, countryCode string) (*File, error) {
	file := &File{content: content, countryCode: countryCode}
	err := file.readBatches(func(batch []importfile.Row) error {
		file.Total += len(batch)
		return nil
	})
	if err == nil && file.Total == 0 {
		err = importfile.ErrEmpty
	}
	return file, err
}

// IsLarge reports whether a job has to import the file.
func (f *File) IsLarge() bool { return f.Total > MaxRowsAtOnce }

// readBatches calls work with the rows, a batch at a time. A batch is valid until work
// returns.
func (f *File) readBatches(work func(batch []importfile.Row) error) error {
	reader, err := importfile.NewReader(f.content, f.countryCode)
	if err != nil {
		return err
	}
	f.Columns = reader.Columns()
	batch := make([]importfile.Row, 0, batchSize)
	for {
		row, err := reader.Next()
		switch {
		case err == nil:
			batch = append(batch, row)
		case !errors.Is(err, io.EOF):
			return err
		}
		if isEnd := err != nil; isEnd || len(batch) == batchSize {
			if len(batch) > 0 {
				if err := work(batch); err != nil {
					return err
				}
			}
			if isEnd {
				return nil
			}
			batch = batch[:0]
		}
	}
}

// Preview returns what an import of the file would do. Of each number it keeps 24 bytes.
func (s *Service) Preview(ctx context.Context, scope store.Scope, file *File) (Result, error) {
	var result Result
	p := previewer{seed: maphash.MakeSeed(), seen: make(map[uint64]fingerprint)}
	err := file.readBatches(func(batch []importfile.Row) error {
		known, err := s.store.ContactsByNumberKey(ctx, scope.Company, keysOf(batch))
		if err != nil {
			return err
		}
		p.add(known)
		for _, row := range batch {
			p.apply(row, &result)
		}
		return nil
	})
	return result, err
}

// previewer finds what the rows of a file would change. Of the contacts that it has seen it
// keeps hashes.
type previewer struct {
	seed maphash.Seed
	seen map[uint64]fingerprint // by the keys of their numbers
}

// fingerprint is what a contact would have after the rows so far.
type fingerprint struct{ name, email uint64 }

func (p *previewer) fingerprintOf(name, email string) fingerprint {
	return fingerprint{maphash.String(p.seed, name), maphash.String(p.seed, email)}
}

// keyOf returns the key of a number of at most 15 digits.
func keyOf(numberKey string) uint64 {
	key, _ := strconv.ParseUint(numberKey, 10, 64)
	return key
}

func (p *previewer) add(contacts []store.Contact) {
	for _, contact := range contacts {
		if key := keyOf(contact.NumberKey); p.seen[key] == (fingerprint{}) {
			p.seen[key] = p.fingerprintOf(contact.Name, contact.Email)
		}
	}
}

// apply counts a row, as [matcher.apply] does.
func (p *previewer) apply(row importfile.Row, result *Result) {
	if row.Problem != "" {
		result.count(row, ActionFail)
		return
	}
	key := keyOf(chat.NumberKey(row.Number))
	current, isKnown := p.seen[key]
	if !isKnown {
		current = p.fingerprintOf(row.Number, "")
	}
	said := p.fingerprintOf(row.Name, row.Email)
	change := changeOf(row, said.name == current.name, said.email == current.email)
	if change.name {
		current.name = said.name
	}
	if change.email {
		current.email = said.email
	}
	p.seen[key] = current
	result.count(row, change.action(isKnown))
}
