package inbound

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/pointer"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/filetype"
	"integrationhub/messaging/internal/lane"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/store"
)

// MediaJob is the name of the job that fetches files of received messages. Connections are
// divided among its lanes.
const MediaJob = "received-media"

const (
	// MediaTimeout bounds a run of [MediaJob]: the network's answer, ten minutes for a large
	// file, and the time to store it.
	MediaTimeout = 12 * time.Minute

	mediaDeadline = 24 * time.Hour // of attempts to fetch a file
	mediaPause    = time.Minute    // until a file is fetched whose connection is away
)

// Error codes of received messages without their file.
const (
	codeMediaUnavailable = "media_unavailable" // the network does not have it any more
	codeMediaTooLarge    = "media_too_large"
)

// receivedMedia is the payload of [MediaJob].
type receivedMedia struct {
	Company int64  `json:"company"`
	Message string `json:"message"`
}

// addIncomingMedia adds to a message what the network says of its file.
func addIncomingMedia(m *store.Message, in *driver.IncomingMedia) {
	if in == nil {
		return
	}
	m.MediaType, m.MediaReference = in.Type, &in.Reference
	if in.MimeType != "" {
		m.MimeType = &in.MimeType
	}
	if in.Name != "" {
		m.MediaName = &in.Name
	}
}

// enqueueMedia has the job fetch the file of a message, if it has any. The network waits for
// the message to be stored, not for its file.
func (s *Service) enqueueMedia(ctx context.Context, tx *store.Tx, m store.Message) error {
	if m.MediaReference == nil {
		return nil
	}
	return s.enqueueMediaAt(ctx, tx, m, tx.Now())
}

// enqueueMediaAt has the job fetch the file of a message at a time.
func (s *Service) enqueueMediaAt(ctx context.Context, tx *store.Tx, m store.Message, at time.Time) error {
	payload, err := json.Marshal(receivedMedia{m.CompanyID, m.ID})
	if err != nil {
		return fmt.Errorf("encoding a job: %w", err)
	}
	job := lane.Of(MediaJob, pointer.ValueOrZero(m.ConnectionID))
	return s.host.Jobs.Enqueue(ctx, tx.Raw, module.JobRun{Job: job, Key: m.ID, Payload: payload, At: at})
}

// errAway means that a file was not fetched, because its connection is not connected.
var errAway = errors.New("the connection is not connected")

// FetchMedia is a background job: it fetches the file of a received message from the
// network.
func (s *Service) FetchMedia(ctx context.Context, payload []byte) error {
	var job receivedMedia
	if err := json.Unmarshal(payload, &job); err != nil {
		return fmt.Errorf("reading a job: %w", err)
	}
	message, err := s.store.Message(ctx, job.Company, job.Message)
	if err != nil || message.MediaReference == nil {
		return ignoreNoRows(err)
	}
	company, err := s.store.Company(ctx, job.Company)
	if err != nil {
		return ignoreNoRows(err)
	}
	scope := store.Scope{Company: company.ID, Tenant: company.TenantID}
	file, err := s.fetch(ctx, message)
	code, isLate := "", s.host.Now().Sub(message.CreatedAt) > mediaDeadline
	switch {
	case err == nil:
		return s.store.InTx(ctx, "storing the file of a message", func(tx *store.Tx) error {
			isMissing, err := tx.SetReceivedMedia(ctx, scope, message.ID, file)
			if err == nil && isMissing { // the message was erased meanwhile
				err = tx.EraseMedia(ctx, message.CompanyID, []string{file.ID})
			}
			return err
		})
	case errors.Is(err, errAway) && !isLate:
		return s.store.InTx(ctx, "postponing a file", func(tx *store.Tx) error {
			return s.enqueueMediaAt(ctx, tx, message, tx.Now().Add(mediaPause))
		})
	case isStorageFull(err):
		code = store.CodeStorageFull
	case errors.Is(err, hub.ErrTooLarge):
		code = codeMediaTooLarge
	case errors.Is(err, driver.ErrRefused), errors.Is(err, hub.ErrMalformed), isLate:
		code = codeMediaUnavailable
	default:
		return err // the job is run again
	}
	s.host.Log.WarnContext(ctx, "the file of a received message cannot be fetched", "message_id", message.ID, "error", err)
	return s.store.InTx(ctx, "giving up the file of a message", func(tx *store.Tx) error {
		return tx.GiveUpReceivedMedia(ctx, scope, message.ID, code)
	})
}

// isStorageFull reports whether a file was not kept because its company has no room for it.
func isStorageFull(err error) bool {
	refusal, ok := errors.AsType[*hub.Error](err)
	return ok && refusal.Code == store.CodeStorageFull
}

// fetch opens the file of a message at its network and keeps it. It returns errAway without a call
// if the connection is not connected.
func (s *Service) fetch(ctx context.Context, message store.Message) (store.MediaFile, error) {
	if message.ConnectionID == nil {
		return store.MediaFile{}, driver.ErrRefused // it was deleted
	}
	connection, err := s.store.Connection(ctx, message.CompanyID, *message.ConnectionID)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.MediaFile{}, driver.ErrRefused // it was deleted
	}
	if err != nil {
		return store.MediaFile{}, err
	}
	if connection.Status != chat.ConnectionConnected {
		return store.MediaFile{}, errAway
	}
	network, err := s.drivers.ByName(connection.Driver)
	if err != nil {
		return store.MediaFile{}, err
	}
	opened, err := s.store.DriverConnection(connection)
	if err != nil {
		return store.MediaFile{}, err
	}
	content, err := network.OpenMedia(ctx, opened, *message.MediaReference)
	if err != nil {
		return store.MediaFile{}, fmt.Errorf("opening a file at the network: %w", err)
	}
	defer func() { _ = content.Close() }()
	declared := filetype.Declared{}
	if message.MediaName != nil {
		declared.Name = *message.MediaName
	}
	if message.MimeType != nil {
		declared.Mime = *message.MimeType
	}
	if message.MediaType == chat.MediaDocument {
		declared.Media = chat.MediaDocument
	}
	return s.media.Store(ctx, message.CompanyID, media.Upload{Declared: declared, Content: io.Reader(content), Received: true})
}
