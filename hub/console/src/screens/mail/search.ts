import { matching, uuid } from "../../app/search";

/** mailSearch is the list's state in the URL: a recipient, and the e-mail that is open (letter). */
export const mailSearch = (search: Record<string, unknown>): { to?: string; letter?: string } => ({ to: matching(/^\S{3,254}$/, search.to), letter: matching(uuid, search.letter) });
