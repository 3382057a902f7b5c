package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/store/dbgen"
)

// MediaFile is a row of messaging.media_files.
type MediaFile = dbgen.MediaFile

// EraseMediaJob is the name of the job that deletes the content of erased files.
const EraseMediaJob = "erase-media"

// abandonedAfter is the age from which files that no message has are erased. Until then
// they may be on their way into a message.
const abandonedAfter = 24 * time.Hour

// mediaBatch is how many files a statement looks at.
const mediaBatch = 500

// CodeStorageFull is the code of files that a company has no room for.
const CodeStorageFull = "media_storage_full"

// AddMedia stores a file's row, before its content is stored: a row whose content is
// missing is found and erased, content without a row would not be. It returns a [hub.ErrTooLarge]
// with [CodeStorageFull] if the company keeps as many bytes as it may.
func (s *Store) AddMedia(ctx context.Context, f MediaFile) (MediaFile, error) {
	if err := s.checkMediaUsage(ctx, f.CompanyID, s.host.Settings.MediaBytes-1); err != nil {
		return f, err
	}
	return s.InsertMediaFile(ctx, dbgen.InsertMediaFileParams{
		CompanyID: f.CompanyID, ID: f.ID, BlobID: f.BlobID, MediaType: f.MediaType, MimeType: f.MimeType, Name: f.Name, UserID: f.UserID, CreatedAt: s.host.Now(),
	})
}

// CompleteMedia stores that the content of a file is complete. It returns the error of
// [Store.AddMedia] if the company keeps more bytes than it may with this file.
func (s *Store) CompleteMedia(ctx context.Context, company int64, id string, size int64) (file MediaFile, err error) {
	if file, err = s.MarkMediaStored(ctx, company, id, size); err != nil {
		return file, fmt.Errorf("storing that a file is complete: %w", err)
	}
	return file, s.checkMediaUsage(ctx, company, s.host.Settings.MediaBytes)
}

// checkMediaUsage returns the error of [Store.AddMedia] if a company keeps more bytes than a limit.
func (s *Store) checkMediaUsage(ctx context.Context, company, limit int64) error {
	used, err := s.MediaUsage(ctx, company)
	if err != nil {
		return fmt.Errorf("reading how much the company keeps: %w", err)
	}
	if used > limit {
		return hub.Errorf(hub.ErrTooLarge, CodeStorageFull, "The company keeps as many files as it may: %d MiB. Delete tickets or contacts with files, or keep messages for a shorter time.", s.host.Settings.MediaBytes>>20)
	}
	return nil
}

// WithMedia returns a message with a file.
func WithMedia(m Message, f MediaFile) Message {
	m.MediaType, m.MediaID, m.MediaName, m.MimeType, m.Size = f.MediaType, &f.ID, &f.Name, &f.MimeType, &f.Size
	return m
}

// SeesMedia reports whether a viewer may read a file; nil may read every file of the company.
func (s *Store) SeesMedia(ctx context.Context, viewer *Viewer, f MediaFile) (bool, error) {
	if viewer == nil {
		return true, nil
	}
	base, err := url.Parse(s.host.URLs.Base)
	if err != nil {
		return false, fmt.Errorf("parsing the product's own address: %w", err)
	}
	addresses := []string{base.String() + "/media/" + f.ID, base.Path + "/media/" + f.ID}
	return s.UserSeesMedia(ctx, dbgen.UserSeesMediaParams{CompanyID: f.CompanyID, ID: f.ID, UserID: viewer.UserID, AllTickets: viewer.AllTickets, Queues: viewer.Queues, Addresses: addresses})
}

// SetReceivedMedia adds the file of a received message to it, and publishes the message to plain
// webhooks, which waits for that.
func (t *Tx) SetReceivedMedia(ctx context.Context, scope Scope, id string, f MediaFile) (isMissing bool, err error) {
	stored, err := t.SetMessageMedia(ctx, dbgen.SetMessageMediaParams{
		MediaID: f.ID, MimeType: f.MimeType, MediaName: f.Name, Size: f.Size, UpdatedAt: t.Now(), CompanyID: scope.Company, ID: id,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("adding a file to a message: %w", err)
	}
	return false, t.publishMessage(ctx, scope, stored)
}

// GiveUpReceivedMedia stores why a received message has no file, and publishes the message to plain
// webhooks, which waits for that.
func (t *Tx) GiveUpReceivedMedia(ctx context.Context, scope Scope, id, errorCode string) error {
	stored, err := t.GiveUpMessageMedia(ctx, dbgen.GiveUpMessageMediaParams{ErrorCode: errorCode, UpdatedAt: t.Now(), CompanyID: scope.Company, ID: id})
	if errors.Is(err, pgx.ErrNoRows) { // the message was erased meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("storing that a message has no file: %w", err)
	}
	return t.publishMessage(ctx, scope, stored)
}

// EraseMedia erases those files of a company that no message has any more. They are not
// served from then on; a job deletes their content.
func (t *Tx) EraseMedia(ctx context.Context, company int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := t.EraseUnusedMedia(ctx, t.Now(), company, ids); err != nil {
		return fmt.Errorf("erasing files: %w", err)
	}
	return t.Host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: EraseMediaJob, Key: "now"})
}

// EraseAbandoned is a background job: it erases files that no message has. It looks at a page of
// files at a time, so that a statement ends in time however many there are.
func (s *Store) EraseAbandoned(ctx context.Context, _ []byte) error {
	var failed failures
	now := s.host.Now()
	for page := (dbgen.EraseAbandonedMediaRow{Files: mediaBatch}); page.Files == mediaBatch; {
		var err error
		page, err = s.EraseAbandonedMedia(ctx, dbgen.EraseAbandonedMediaParams{
			At: now, Before: now.Add(-abandonedAfter), AfterCreatedAt: page.CreatedAt, AfterID: page.ID, MaxRows: mediaBatch,
		})
		if err != nil {
			failed.add(fmt.Errorf("erasing abandoned files: %w", err))
		}
	}
	failed.add(s.DeleteErasedMedia(ctx, nil))
	return failed.joined()
}

// DeleteErasedMedia is a background job: it deletes the content and the rows of erased
// files. Those that cannot be deleted are left to a later run.
func (s *Store) DeleteErasedMedia(ctx context.Context, _ []byte) error {
	var failed failures
	var last dbgen.ErasedMediaRow
	for {
		files, err := s.ErasedMedia(ctx, last.ErasedAt, last.ID, mediaBatch)
		if err != nil {
			failed.add(fmt.Errorf("finding erased files: %w", err))
		}
		for _, file := range files {
			if ctx.Err() != nil {
				failed.add(ctx.Err())
				break
			}
			if err := s.deleteErased(ctx, file.CompanyID, file.ID); err != nil {
				failed.add(fmt.Errorf("file %s: %w", file.ID, err))
			}
			last = file
		}
		if len(files) < mediaBatch || ctx.Err() != nil {
			return failed.joined()
		}
	}
}

// deleteErased deletes the content, then the row of an erased file, or restores it if a
// message has it after all.
func (s *Store) deleteErased(ctx context.Context, company int64, id string) error {
	return s.InTx(ctx, "deleting a file", func(tx *Tx) error {
		file, err := tx.LockErasedMedia(ctx, company, id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		deleted, err := tx.DeleteMediaFile(ctx, company, id)
		if err != nil {
			return err
		}
		if deleted == 0 {
			return tx.RestoreMediaFile(ctx, company, id)
		}
		return s.host.Blobs.Delete(ctx, file.BlobID)
	})
}
