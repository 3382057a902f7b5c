import { TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError } from "../../../api/client";
import { useEnvironment } from "../../../app/EnvironmentSwitch";
import { Detail } from "../../../ui/Detail";
import { Form, type Values } from "../../../ui/Form";
import form from "../../../ui/Form.module.css";
import layout from "../../../ui/layout.module.css";
import { useTexts } from "../../i18n";
import classes from "./Imports.module.css";
import { checkFile, type Format } from "./queries";

const route = getRouteApi("/account/$product/imports/new");
const formats: Format[] = ["csv", "fhir-ndjson"];

/** formatOf guesses the format of a file by its name. */
const formatOf = (file?: File): Format => (/\.(nd)?jsonl?$/i.test(file?.name ?? "") ? "fhir-ndjson" : "csv");

/** NewImport takes a file and has it checked: nothing is imported before its preview was seen. */
export function NewImport() {
	const { imports: texts } = useTexts();
	const { product } = route.useParams();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const [file, setFile] = useState<File>();
	const [format, setFormat] = useState<Format>("csv");
	const check = useMutation<string, Error, Values>({
		mutationFn: ({ text }) => {
			if (!file) throw new Error(texts.noFile);
			return checkFile(queries, environment, { file, format, source: text("source") }).catch((error: unknown) => {
				throw error instanceof ApiError && error.status === 0 ? new Error(texts.notSent) : error;
			});
		},
		onSuccess: (id) => navigate({ to: "/account/$product/imports/$id", params: { product, id }, search: (was) => ({ environment: was.environment }) }),
	});
	return (
		<Detail
			back={
				<Link to="/account/$product/imports" params={{ product }} search={(was) => ({ environment: was.environment })}>
					{texts.title}
				</Link>
			}
			title={texts.begin}
		>
			<section className={`panel ${layout.section} ${classes.form}`} aria-label={texts.begin}>
				<Form submit={texts.checkFile} act={check}>
					<p className="quiet">{texts.steps}</p>
					<label className={form.field}>
						<span>{texts.file}</span>
						<input
							type="file"
							required
							accept=".csv,.txt,.tsv,.json,.ndjson,.jsonl"
							onChange={(event) => {
								const chosen = event.currentTarget.files?.[0];
								setFile(chosen);
								setFormat(formatOf(chosen));
								check.reset();
							}}
						/>
						<span className="quiet">{texts.fileHelp}</span>
					</label>
					<label className={form.field}>
						<span>{texts.format}</span>
						<select className={layout.select} value={format} onChange={(event) => setFormat(event.target.value as Format)}>
							{formats.map((name) => (
								<option key={name} value={name}>
									{texts.formats[name]}
								</option>
							))}
						</select>
					</label>
					<TextInput name="source" maxLength={200} label={texts.source} description={texts.sourceHelp} />
				</Form>
			</section>
		</Detail>
	);
}
