import { Button, TextInput } from "@mantine/core";
import { skipToken, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useEnvironment } from "../../../app/EnvironmentSwitch";
import { useLanguage } from "../../../i18n";
import { detailOf } from "../../../ui/errors";
import { Masked } from "../../../ui/Masked";
import layout from "../../../ui/layout.module.css";
import { useTexts } from "../../i18n";
import classes from "./Inbox.module.css";
import { type Patient, patientQuery, patientsQuery } from "./queries";

/** PatientChoice is a choice of a patient: the one that the clinic suggests, and those that a search finds. */
export function PatientChoice({ suggested, value, onChange }: { suggested: string | null; value?: string; onChange: (id?: string) => void }) {
	const { t } = useLanguage();
	const { inbox: texts } = useTexts();
	const environment = useEnvironment();
	const [search, setSearch] = useState("");
	const suggestion = useQuery({ ...patientQuery(environment, suggested ?? ""), enabled: suggested !== null });
	const query = patientsQuery(environment, search);
	const found = useQuery({ ...query, queryFn: search ? query.queryFn : skipToken });
	const rows = [...(suggestion.data ? [suggestion.data] : []), ...(found.data?.items.filter(({ id }) => id !== suggested) ?? [])];
	return (
		<section aria-label={texts.whom} className={classes.choice}>
			<form
				role="search"
				aria-label={texts.find}
				className={classes.search}
				onSubmit={(event) => {
					event.preventDefault();
					const text = String(new FormData(event.currentTarget).get("search")).trim();
					if (text === search) return;
					setSearch(text);
					onChange(suggested ?? undefined);
				}}
			>
				<TextInput name="search" type="search" size="xs" maxLength={200} autoComplete="off" label={texts.find} description={texts.findHelp} data-autofocus />
				<Button type="submit" size="xs" variant="default" loading={found.isFetching}>
					{texts.search}
				</Button>
			</form>
			<p role="alert" className={layout.bad}>
				{found.isError && `${t.ui.failed} ${detailOf(found.error)}`}
			</p>
			<p role="status" className="quiet">
				{found.isSuccess && (found.data.total > found.data.items.length ? texts.foundMore(found.data.items.length) : texts.found(found.data.total))}
			</p>
			{rows.length > 0 && (
				<fieldset className={classes.patients}>
					<legend>{texts.whom}</legend>
					{rows.map((patient) => (
						<label key={patient.id} className={classes.patient}>
							<input type="radio" name="patient" checked={value === patient.id} onChange={() => onChange(patient.id)} />
							<span>
								<strong>{patient.name}</strong> {patient.id === suggested && <span className="quiet">· {texts.hasNumber}</span>}
								<PatientLine patient={patient} />
							</span>
						</label>
					))}
				</fieldset>
			)}
		</section>
	);
}

function PatientLine({ patient }: { patient: Patient }) {
	return (
		<span className={`quiet ${classes.line}`}>
			<Masked value={[patient.phone, patient.cpf, patient.birth_date].filter(Boolean).join(" · ")} />
		</span>
	);
}
