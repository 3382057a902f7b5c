package alerts

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	mailInterval   = time.Minute // between two mails of one alert: what happens meanwhile is one mail
	noticesPerMail = 50          // written out; the others are counted
	mailsPerTick   = 20
)

// writeMails writes the mails of alerts with notices. A mail says all that happened since the
// last one, so that a flood of events is no flood of mails.
func (p *Publisher) writeMails(ctx context.Context) error {
	for range mailsPerTick {
		written, err := p.writeMail(ctx)
		if err != nil || !written {
			return err
		}
	}
	return nil
}

// writeMail writes the mail of one alert that is due; false: none is.
func (p *Publisher) writeMail(ctx context.Context) (written bool, err error) {
	err = pgx.BeginFunc(ctx, p.DB, func(tx pgx.Tx) error {
		var alert uuid.UUID
		var address string
		rows, err := tx.Query(ctx, `
			select a.id, a.target from hub.alerts a
			where a.kind = 'email' and a.enabled and (a.mailed_at is null or a.mailed_at <= $1) and exists (select from hub.alert_notices n where n.alert_id = a.id)
			limit 1 for update skip locked`, p.Now().Add(-mailInterval))
		if err != nil {
			return fmt.Errorf("looking for notices: %w", err)
		}
		tag, err := pgx.ForEachRow(rows, []any{&alert, &address}, func() error { return nil })
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		notices, count, err := takeNotices(ctx, tx, alert)
		if err != nil {
			return err
		}
		subject, text := mailOf(notices, count, p.ConsoleURL)
		if err := p.Mail.SendOwn(ctx, tx, address, subject, text); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update hub.alerts set mailed_at = $2 where id = $1`, alert, p.Now()); err != nil {
			return fmt.Errorf("recording a mail: %w", err)
		}
		written = true
		return nil
	})
	return written, err
}

// takeNotices deletes an alert's notices and returns the first of them, and how many they were.
func takeNotices(ctx context.Context, tx pgx.Tx, alert uuid.UUID) (notices []string, count int, err error) {
	rows, err := tx.Query(ctx, `
		with taken as (delete from hub.alert_notices where alert_id = $1 returning id, notice)
		select notice, count(*) over () from taken order by id limit $2`, alert, noticesPerMail)
	if err != nil {
		return nil, 0, fmt.Errorf("taking notices: %w", err)
	}
	var notice string
	_, err = pgx.ForEachRow(rows, []any{&notice, &count}, func() error {
		notices = append(notices, notice)
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("taking notices: %w", err)
	}
	return notices, count, nil
}

// mailOf returns the subject and text of a mail with notices, the first of count.
func mailOf(notices []string, count int, consoleURL string) (subject, text string) {
	subject, _, _ = strings.Cut(notices[0], "\n")
	subject = strings.TrimSuffix(subject, ".")
	if count > 1 {
		subject = fmt.Sprintf("%d notices: %s", count, subject)
	}
	var body strings.Builder
	for _, notice := range notices {
		body.WriteString(notice + "\n\n")
	}
	if more := count - len(notices); more > 0 {
		fmt.Fprintf(&body, "And %d more.\n\n", more)
	}
	fmt.Fprintf(&body, "-- \nThis mail is an alert of your Integration Hub. Alerts are managed at %s/alerts\n", consoleURL)
	return subject, body.String()
}
